"""Printing a job from its page and by API: one click to the PDF, and only for those who may."""

import re
from typing import Any

import pytest
from django.urls import reverse

from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import GOVDE, finished, make_job, page_of
from tests.support.cutting_rules import COMPANY, PRICES
from tests.support.pdf_jobs import bring

pytestmark = pytest.mark.django_db

LABELS = (
    "Labels 70 × 37 mm (A4, 24 a sheet)",
    "Labels 105 × 57 mm (A4, 10 a sheet)",
    "Labels 100 × 50 mm (roll)",
)


def menu(client: Any, job: Job) -> list[str]:
    found = re.search(r"<summary>Print</summary>(.*?)</details>", page_of(client, job).text, re.DOTALL)
    return re.findall(r"kilit-quiet\s*\">\s*(.*?)\s*</", found[1]) if found else []


def printed(job: Job, kind: str, query: str = "") -> str:
    return reverse("console:print", args=[job.pk, kind]) + query


def test_an_operator_clicks_once_and_is_led_to_the_pdf(make_person) -> None:
    client, job = make_person(), make_job()

    answer = client.post(printed(job, "labels", "?format=100x50"), {"ids": str(job.pk)})

    made = PdfJob.objects.get()
    assert (made.owner.username, made.template_name, made.document_number) == ("ayse", "labels", job.order_id)
    assert (made.payload["format"], len(made.payload["labels"]), made.payload["locale"]) == ("100x50", 3, "en")
    assert answer.url == f"{reverse('console:paper', args=[made.pk])}?job={job.pk}"
    waiting = client.get(answer.url)
    assert (waiting.status_code, waiting.headers["Refresh"]) == (200, "1")
    assert all(text in waiting.text for text in ("The PDF is being made", "Back to the job"))
    assert "Back to the job" not in client.get(f"{answer.url.partition('?')[0]}?job=x").text
    bring(made, "succeeded")
    assert client.get(answer.url).url == reverse("admin:pdfjobs_pdfjob_file", args=[made.pk])
    assert client.post(printed(job, "labels", "?format=100x50")).url == answer.url  # the same labels: the same PDF
    assert PdfJob.objects.count() == 1


def test_a_pdf_that_failed_leads_to_its_page(make_person) -> None:
    client, job = make_person(), make_job()
    answer = client.post(printed(job, "cutting_sheet"))

    made = bring(PdfJob.objects.get(), "failed")

    assert client.get(answer.url).url == reverse("admin:pdfjobs_pdfjob_change", args=[made.pk])


@pytest.mark.parametrize("kind", ["cutting_sheet", "labels", "offer"])
def test_characters_that_no_font_has_are_named_where_people_print(make_person, rules, kind: str) -> None:
    rules(prices=PRICES, company=COMPANY)
    client, job = make_person(), make_job(order_id="漢字-1")

    answer = client.post(printed(job, kind))

    warning = "No font of this server has these characters, so they are printed as boxes: 字漢."
    assert warning in client.get(answer.url).content.decode()
    pdf = bring(PdfJob.objects.get(), "succeeded")
    opened = client.get(answer.url)
    assert opened.url == reverse("admin:pdfjobs_pdfjob_change", args=[pdf.pk])
    assert warning in client.get(opened.url).content.decode()


def test_the_menu_offers_what_can_be_printed(make_person, rules, settings) -> None:
    client, job = make_person(), make_job()
    papers = [
        "Cutting sheet",
        *LABELS,
    ]
    rules()
    assert menu(client, job) == papers
    rules(prices=PRICES)
    assert menu(client, job) == [*papers, "Offer: The rules have no company: add its name and address."]
    rules(prices=PRICES, company=COMPANY)
    assert menu(client, job) == [*papers, "Offer"]
    settings.PDF_TEMPLATES = ["offer"]
    assert menu(client, job) == ["Offer"]


def test_a_viewer_prints_nothing_and_sees_the_pdfs_that_exist(make_person) -> None:
    operator, viewer, job = make_person(), make_person("veli", role="viewer"), make_job()
    paper = operator.post(printed(job, "cutting_sheet")).url
    bring(PdfJob.objects.get(), "succeeded")

    assert menu(viewer, job) == []
    assert viewer.post(printed(job, "labels")).status_code == 403
    assert viewer.get(printed(job, "labels")).status_code == 403
    assert PdfJob.objects.count() == 1
    file = viewer.get(viewer.get(paper).url)
    file.close()
    assert file.status_code == 200


def test_all_labels_of_a_long_job_are_one_document(make_person) -> None:
    client, job = make_person(), make_job(parts=[{**GOVDE, "quantity": 5000}])

    assert [title for title in menu(client, job) if title.startswith("Labels")] == list(LABELS)
    client.post(printed(job, "labels", "?format=105x57"))

    labels = PdfJob.objects.get().payload["labels"]
    assert [label["number"] for label in labels] == list(range(1, 5001))


def test_what_no_document_takes_is_offered_in_several(make_person) -> None:
    client, job = make_person(), make_job(parts=[{**GOVDE, "quantity": 7001}])
    titles = [f"{LABELS[2]}: 1–5000", f"{LABELS[2]}: 5001–7001"]

    assert [title for title in menu(client, job) if title.startswith(LABELS[2])] == titles
    client.post(printed(job, "labels", "?format=100x50&first=5001&last=7001"))

    labels = PdfJob.objects.get().payload["labels"]
    assert (labels[0]["piece"], labels[-1]["piece"], labels[-1]["pieces"]) == (5001, 7001, 7001)
    refused = client.post(printed(job, "labels"), follow=True)
    assert "A document takes 5000, not 7001." in refused.content.decode()
    for query in ("?first=0", "?first=x", f"?first={'9' * 5000}", "?format=A4", "?other=1"):
        assert client.post(printed(job, "labels", query)).status_code == 404


def test_who_returns_from_a_login_is_led_to_the_job(make_person) -> None:
    client, job = make_person(), make_job()

    assert client.get(printed(job, "labels")).url == reverse("admin:orchestrator_job_change", args=[job.pk])
    assert PdfJob.objects.count() == 0


def test_what_goes_with_a_delivery_is_offered_when_the_job_is_done(make_person, rules, customer, settings) -> None:
    rules(prices=PRICES, company=COMPANY)
    client, job = make_person(), make_job()
    assert menu(client, job)[4:] == ["Offer"]
    finished(job)
    assert menu(client, job)[4:] == ["Offer", "Delivery note", "Proforma: The customer has no address."]
    assert reverse("admin:orchestrator_customer_change", args=[customer.pk]) in page_of(client, job).text
    refused = client.post(printed(job, "invoice"), follow=True)
    assert "The customer has no address." in refused.content.decode()

    type(customer).objects.update(address="Ulus 1, Ankara")
    assert menu(client, job)[4:] == ["Offer", "Delivery note", "Proforma"]
    for kind in ("delivery_note", "invoice"):
        client.post(printed(job, kind))
    assert [(made.template_name, made.document_number) for made in PdfJob.objects.order_by("pk")] == [
        ("delivery_note", "S-1001"),
        ("invoice", "S-1001"),
    ]

    rules(prices=PRICES)
    assert menu(client, job)[5:] == ["Proforma: The rules have no company: add its name and address."]
    rules()
    assert menu(client, job)[4:] == []


@pytest.mark.parametrize("address", ["receipt", "nothing", "labels/x"])
def test_there_are_no_other_papers(make_person, address: str) -> None:
    base = printed(make_job(), "labels").removesuffix("labels/")

    assert make_person().post(f"{base}{address}/").status_code == 404


def test_a_full_queue_is_reported_on_the_jobs_page(make_person, settings) -> None:
    settings.PDF_QUEUE_LIMIT = 1
    client, job = make_person(), make_job()
    client.post(printed(job, "cutting_sheet"))

    answer = client.post(printed(job, "labels"), follow=True)

    assert answer.redirect_chain[-1][0] == reverse("admin:orchestrator_job_change", args=[job.pk])
    assert "The PDF queue takes no jobs right now" in answer.content.decode()


def test_a_backend_prints_a_job_as_it_requests_documents(make_api, worker_lives) -> None:
    api, job = make_api(), make_job()

    new, same = (api.post(f"jobs/{job.pk}/papers/labels", {"format": "100x50"}) for _ in range(2))

    assert (new.status_code, same.status_code) == (201, 200)
    assert new.json()["job_id"] == same.json()["job_id"] == str(PdfJob.objects.get().pk)
    assert new.headers["Location"].endswith(f"/pdf/jobs/{new.json()['job_id']}")
    assert PdfJob.objects.get().payload["locale"] == "tr"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("{job}/papers/receipt", {}, 404, "NOT_FOUND"),
        ("{job}/papers/invoice", {}, 409, "NOT_PRINTABLE"),
        ("{job}/papers/delivery_note", {}, 409, "NOT_PRINTABLE"),
        ("00000000-0000-7000-8000-000000000000/papers/labels", {}, 404, "E_JOB_NOT_FOUND"),
        ("nonsense/papers/labels", {}, 404, "E_JOB_NOT_FOUND"),
        ("{job}/papers/labels", {"format": "A4"}, 400, "VALIDATION"),
        ("{job}/papers/labels", {"first": 4}, 409, "NOT_PRINTABLE"),
        ("{job}/papers/offer", {}, 409, "NOT_PRINTABLE"),
    ],
)
@pytest.mark.usefixtures("worker_lives")
def test_what_cannot_be_printed_is_refused(make_api, path: str, body: Any, status: int, code: str) -> None:
    answer = make_api().post(f"jobs/{path.format(job=make_job().pk)}", body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert PdfJob.objects.count() == 0


def test_a_viewers_key_cannot_print(make_api, worker_lives) -> None:
    assert make_api("viewer").post(f"jobs/{make_job().pk}/papers/labels").status_code == 403


def test_the_page_of_the_rules_shows_who_sells(make_person, rules) -> None:
    rules(company=COMPANY)

    shown = make_person(role="viewer").get(reverse("admin:orchestrator_rulesversion_changelist"))

    assert COMPANY["address"] in shown.content.decode()
