"""Ctrl+K finds rows, sites and pages that the user may see, and reads only a few rows."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ociqueue.models import Conversion
from orchestrator.models import Customer
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_conversions, make_site, site_with_operator
from tests.support.pdf_jobs import new_job

pytestmark = pytest.mark.django_db


def found(client: Client, text: str) -> dict[str, str]:
    answer = client.get("/admin/search/", {"s": text, "extended": "1"})
    assert answer.status_code == 200
    return dict(re.findall(r'href="([^"]*)"\s+data-title="([^"]*)"', answer.text))


def test_it_finds_rows_by_the_names_that_people_know(admin_client) -> None:
    site = make_site("Berlin")
    make_conversions(site, waiting=1, source_keys=["order-4711"])
    row, pdf, job = Conversion.objects.get(), new_job(number=4711), make_job(order_id="SIP-4711")

    assert found(admin_client, "ORDER-47") == {f"/admin/ociqueue/conversion/{row.pk}/change/": "order-4711"}
    assert found(admin_client, "n-4711") == {f"/admin/pdfjobs/pdfjob/{pdf.pk}/change/": "N-4711"}
    assert found(admin_client, "sip") == {f"/admin/orchestrator/job/{job.pk}/change/": "SIP-4711"}
    assert found(admin_client, str(row)) == {f"/admin/ociqueue/conversion/{row.pk}/change/": "order-4711"}
    assert found(admin_client, "berl") == {f"/admin/ociqueue/site/{site.pk}/change/": "Berlin"}
    assert found(admin_client, "customers") == {"/admin/orchestrator/customer/": "Customers"}
    assert found(admin_client, "") == {}


def test_it_finds_nothing_that_the_user_may_not_see(make_person) -> None:
    mine, other = make_site("Mine"), make_site("Minor")
    make_conversions(mine, waiting=1, source_keys=["order-1"])
    make_conversions(other, waiting=1, source_keys=["order-1"])
    row = Conversion.objects.for_site(mine).get()
    client = make_person(sites=(mine,))

    assert list(found(client, "order-")) == [f"/admin/ociqueue/conversion/{row.pk}/change/"]
    assert list(found(client, "min")) == [f"/admin/ociqueue/site/{mine.pk}/change/"]
    assert found(client, "users") == {}
    assert Client().get("/admin/search/", {"s": "order"}).status_code == 302


def test_those_who_may_add_a_site_find_the_page_for_it(make_person) -> None:
    assert found(make_person("ali", role="admin"), "add a si") == {"/admin/ociqueue/site/add/": "Add site"}
    assert found(make_person("veli", role="operator"), "add a si") == {}


ACTIONS = {
    "new ord": "/admin/orchestrator/orderdraft/new/",
    "import": "/admin/ociqueue/conversion/import/",
    "import sheet": "/admin/orchestrator/orderdraft/import/",
    "error gr": "/admin/ociqueue/conversion/groups/",
    "pause site": "/admin/ociqueue/site/?status=running",
}


@pytest.mark.parametrize("text", ACTIONS)
def test_it_finds_actions_that_the_user_may_use(make_person, text: str) -> None:
    site = make_site()

    assert ACTIONS[text] in found(make_person("veli", role="operator", sites=(site,)), text.upper())
    allowed = {"error gr"} & {text}
    assert bool(allowed) == (ACTIONS[text] in found(make_person("ali", role="viewer", sites=(site,)), text))


def test_it_finds_customers_and_people_by_words_in_any_letters(admin_client) -> None:
    customer = Customer.objects.create(phone="+905551234567", name="Çağrı Işık")
    person = User.objects.create(username="isil", last_name="Işık")

    answer = admin_client.get("/admin/search/", {"s": "ISIK"}).text

    assert f"/admin/orchestrator/customer/{customer.pk}/change/" in answer
    assert f"/admin/auth/user/{person.pk}/change/" in answer
    assert customer.phone not in answer


def test_rows_of_all_queues_are_the_newest_first_with_their_place(admin_client) -> None:
    make_conversions(make_site("Berlin & Söhne"), waiting=1, source_keys=["n-1"])
    pdf = new_job(number=1)
    make_conversions(make_site("Paris"), waiting=2, source_keys=["n-2", "n-3"])
    rows = list(Conversion.objects.order_by("-pk").values_list("pk", flat=True))

    answer = admin_client.get("/admin/search/", {"s": "N-"}).text

    assert re.findall(r"/(?:conversion|pdfjob)/(.{36})/change", answer) == [
        *map(str, rows[:2]),
        str(pdf.pk),
        str(rows[2]),
    ]
    assert "Berlin &amp; Söhne · " in answer


def test_of_many_rows_it_reads_a_few_and_leads_to_the_list() -> None:
    _site, client = site_with_operator(waiting=30, source_keys=(f"k-{number}" for number in range(30)))

    with CaptureQueriesContext(connection) as queries:
        results = found(client, "k-")

    assert len(results) == 6
    assert results["/admin/ociqueue/conversion/?q=k-"] == "All that begin with “k-”"
    # The rows and their names; adjustments are found by the key of their conversion, which has a table of its own.
    assert len([query for query in queries if "offline_conversion_queue" in query["sql"]]) == 2


def test_every_page_announces_it(admin_client) -> None:
    assert "Ctrl K" in admin_client.get("/admin/").text
