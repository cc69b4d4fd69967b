"""Rows are found by the first letters of what people call them."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from kilit.access.models import ApiKey
from kilit.batches.search import MOST_PER_COLUMN
from kilit.lock.folding import Fold, fold_text
from ociqueue.models import Conversion, Site
from orchestrator.models import Customer, Job
from outbox.models import Endpoint
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_conversions, make_site, site_with_operator
from tests.support.pdf_jobs import body, new_job, some_user

pytestmark = pytest.mark.django_db

CONVERSIONS, PDFS, JOBS = "/admin/ociqueue/conversion/", "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/"
KEYS = [f"k-{number:03}" for number in range(MOST_PER_COLUMN + 1)]


def found(client: Client, path: str, text: str, **filters: Any) -> list[Any]:
    return list(client.get(path, {"q": text, **filters}).context["cl"].result_list)


def make_conversion(site: Site, key: str) -> Conversion:
    make_conversions(site, waiting=1, source_keys=[key])
    return Conversion.objects.latest("pk")


def test_a_conversion_is_found_by_the_beginning_of_its_names_in_any_case(admin_client) -> None:
    row = make_conversion(make_site(), "İzmir-Sipariş_100%")
    make_conversions(make_site("Other"), waiting=3)

    for text in ("İZMİR-SİPARİŞ_1", "izmir-siparis", "IZMIR-SIPARIŞ", "ızmır", row.order_id[:-2].upper(), str(row.pk)):
        assert row in found(admin_client, CONVERSIONS, text), text
    assert row in found(admin_client, CONVERSIONS, row.click_id[:6].swapcase())
    for text in ("zmir", "İzmir-Sipariş%", "%", "_"):
        assert row not in found(admin_client, CONVERSIONS, text), text


def test_the_list_calls_a_conversion_by_its_source_key(admin_client) -> None:
    row = make_conversion(make_site(), "order-4711")

    html = admin_client.get(CONVERSIONS).text

    assert "order-4711" in html
    assert row.click_id not in html


def test_a_search_finds_rows_of_the_own_site_behind_any_number_of_others(make_person) -> None:
    large, small = make_site("Large"), make_site("Small")
    make_conversions(large, waiting=MOST_PER_COLUMN + 1, source_keys=KEYS)
    row = make_conversion(small, "k-zzz")

    assert found(make_person(sites=(small,)), CONVERSIONS, "k-") == [row]
    assert row in found(make_person("both", sites=(large, small)), CONVERSIONS, "k-", site=str(small.pk))


def test_a_list_says_when_a_search_was_not_looked_at_to_its_end() -> None:
    _site, client = site_with_operator(waiting=MOST_PER_COLUMN + 1, source_keys=KEYS)

    assert "Only the first ones were searched" in client.get(CONVERSIONS, {"q": "k-"}).text
    assert "Only the first ones were searched" not in client.get(CONVERSIONS, {"q": "k-0000"}).text
    (first, *_) = client.get(f"{CONVERSIONS}all/mark-failed/", {"q": "k-"}).context["sentences"]
    assert first.startswith("Mark failed: 501 match (")


def test_a_pdf_is_found_by_its_number_recipient_and_owner(admin_client) -> None:
    request = parse_job_request(body(variables={**body()["variables"], "number": "FTR-2026-77"}))
    job, _is_new = enqueue(some_user("Webshop"), request)
    other = new_job(some_user("someone"), number=9)
    recipient = request.variables["buyer"]["name"]

    for text in ("ftr-2026", "FTR-2026-77", "webs"):
        assert found(admin_client, PDFS, text) == [job], text
    assert set(found(admin_client, PDFS, recipient[:5].upper())) == {job, other}
    html = admin_client.get(PDFS).text
    assert "FTR-2026-77" in html
    assert recipient in html


def test_an_expired_pdf_keeps_its_number_and_loses_its_recipient() -> None:
    job = new_job(number=1)
    PdfJob.objects.filter(pk=job.pk).update(recipient="Ayşe")
    PdfJob.objects.filter(pk=job.pk).expire()
    job.refresh_from_db()

    assert (job.document_number, job.recipient) == ("N-1", "")


@pytest.mark.parametrize("text", ["0555 12", "+90 555 12", "0090 555 12", "55512", "0555 123 45 67"])
@pytest.mark.by_day(2)
def test_a_cutting_job_is_found_by_the_beginning_of_a_phone(admin_client, text: str) -> None:
    job = make_job(customer_phone="+905551234567")

    assert found(admin_client, JOBS, text) == [job]
    assert found(admin_client, JOBS, text.replace("5", "6")) == []


def test_a_cutting_job_is_found_by_its_order_and_customer(admin_client) -> None:
    customer = Customer.objects.create(phone="+905559876543", name="Yılmaz Mobilya")
    job = make_job(order_id="SIP-1234", customer_snapshot_name="Demir Ltd")
    Job.objects.filter(pk=job.pk).update(customer=customer)

    for text in ("sip-12", "SİP-12", "DEMIR L", "demır", "Yılm", "YILMAZ MOB", "yilmaz", "mobılya"):
        assert found(admin_client, JOBS, text) == [job], text
    assert found(admin_client, JOBS, "obilya") == []


NAME = "Şükrü ÇIĞ-İnşaat"
LISTS: dict[str, Callable[[], Any]] = {
    "/admin/ociqueue/site/": lambda: make_site(NAME),
    "/admin/orchestrator/customer/": lambda: Customer.objects.create(phone="+905559876543", name=NAME),
    "/admin/auth/user/": lambda: User.objects.create(username="sukru", last_name=NAME),
    "/admin/access/apikey/": lambda: ApiKey.objects.create(user=some_user("shop"), name=NAME, digest="d"),
    "/admin/outbox/endpoint/": lambda: Endpoint.objects.create(url="https://a.example/", description=NAME),
}


@pytest.mark.parametrize("path", LISTS)
def test_every_list_folds_letters_alike(admin_client, path: str) -> None:
    row = LISTS[path]()
    decomposed = unicodedata.normalize("NFD", NAME)

    for text in ("sukru", "ŞÜKRÜ", "çığ", "CIG", "çiğ ins", "İNŞAAT", "ınşa", NAME, decomposed):
        assert found(admin_client, path, text) == [row], text
    for text in ("ukru", "cig sukru x", "o'x", "\\", ":*", "!", "sukru' | 'a"):
        assert row not in found(admin_client, path, text), text


def test_python_and_postgresql_fold_letters_alike() -> None:
    text = "".join(map(chr, range(0x20, 0x180))) + unicodedata.normalize("NFD", "İĞÜŞÇÖÂÊÅ")

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {Fold.template % {'expressions': '%s'}}", [text])
        assert cursor.fetchone() == (fold_text(text),)


def test_words_are_found_through_an_index() -> None:
    Customer.objects.bulk_create(
        Customer(phone=f"+90555{number:07}", name=f"Müşteri {number}") for number in range(5000)
    )

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orchestrator_customer")
    assert "customer_words" in Customer.objects.filter(name__words="4711").explain()


@pytest.mark.parametrize(("model", "index"), [(Site, "site_words"), (ApiKey, "key_words")])
def test_a_list_with_fields_of_several_tables_uses_an_index_of_each(rf, admin_user, model, index) -> None:
    reverse("admin:index")  # registers the lists
    model_admin = admin.site.get_model_admin(model)
    request = rf.get("/")
    request.user = admin_user

    rows, _ = model_admin.get_search_results(request, model_admin.get_queryset(request), "4711")

    with connection.cursor() as cursor:
        # The tables are small here, and their statistics those of other tests.
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; SET LOCAL enable_nestloop = off"
        )
    assert index in rows.explain()
