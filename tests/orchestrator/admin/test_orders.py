"""Orders by hand in the console: nothing typed is lost, nothing is sent twice, and only operators send."""

import io
import json
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from kilit.lock.identity import uuid7
from kilit.lock.models import Event
from orchestrator.drafts.sending import send_draft
from orchestrator.models import Customer, Job, OrderDraft
from orchestrator.planning.rules import current_rules
from tests.support.cutting_jobs import GOVDE, make_job
from tests.support.drafts import IMPORT, LIST, NEW, ROW, UPLOAD, make_draft, page_of, posted, typed

pytestmark = pytest.mark.django_db

CUSTOMERS = f"{LIST}customers/"


def test_a_new_order_is_sent_and_leads_to_its_job(make_person, customer) -> None:
    operator = make_person()
    form = operator.get(NEW)
    assert (form.context["post_to"].startswith(LIST), "Import a sheet" in form.text) == (True, True)
    pk = uuid7()

    answer = operator.post(page_of(pk), posted(action="send"), follow=True)

    job = Job.objects.get()
    assert answer.redirect_chain[-1][0] == reverse("admin:orchestrator_job_change", args=[job.pk])
    assert "The order was sent." in answer.text
    assert job.customer == customer
    assert "Ayşe Yılmaz (+905551234567)" in answer.text
    assert Event.objects.of(job).get(event_type="JOB_CREATED").actor == "operator:ayse"
    draft = OrderDraft.objects.get()
    assert (draft.pk, draft.job, draft.created_by, draft.sent_by) == (pk, job, "operator:ayse", "operator:ayse")


@pytest.mark.parametrize(("unit", "length"), [("mm", "1205"), ("cm", "120.5")])
def test_the_jobs_page_has_the_parts_in_millimetres_and_with_the_headings_of_the_form(
    make_person, unit: str, length: str
) -> None:
    row = {**ROW, "length": length, "width": "40"}

    page = make_person().post(page_of(uuid7()), posted(row, action="send", unit=unit), follow=True)

    ((_, cells),) = page.context["part_rows"]
    shown = dict(zip(page.context["part_columns"], cells, strict=True))
    assert shown["Length mm"] == "1205"
    assert {"Part id", "Thickness mm", "Edge top", "Edge left"} <= set(shown)


def test_a_click_sent_twice_makes_one_draft_and_one_job(make_person) -> None:
    operator, pk = make_person(), uuid7()

    answers = [operator.post(page_of(pk), posted(action="send"), follow=True) for _ in range(2)]

    assert (OrderDraft.objects.count(), Job.objects.count()) == (1, 1)
    assert "This order exists already." in answers[1].text
    assert answers[1].redirect_chain[-1][0] == reverse("admin:orchestrator_job_change", args=[Job.objects.get().pk])


def test_faults_are_at_their_cells_and_nothing_typed_is_lost(make_person) -> None:
    operator, pk = make_person(), uuid7()
    rows = [ROW, {**ROW, "length": '<b>"80"', "desc1": "side\tleft"}]

    answer = operator.post(page_of(pk), posted(*rows, action="send", order_id="", customer_phone="x"), follow=True)

    assert not Job.objects.exists()
    assert "Not sent: correct the faults first. The draft is saved." in answer.text
    assert answer.context["form"].errors["order_id"] == ["Fill this in."]
    assert 'data-row="1" data-column="length">Row 2 · Length</a>' in answer.text
    assert OrderDraft.objects.get().content["rows"] == rows
    assert "&lt;b&gt;" in answer.text
    assert "<b>" not in answer.text.split('name="rows"')[1].split("</textarea>")[0]


def test_the_check_shows_the_order_as_it_would_be(make_person) -> None:
    operator, draft = make_person(), make_draft({**ROW, "thickness_mm": "16"})

    shown = operator.post(
        page_of(draft.pk), posted({**ROW, "thickness_mm": "16"}, action="check", draft=draft), follow=True
    )

    assert "Ready to send" in shown.text
    assert "No customer has this phone number" in shown.text
    assert "The rules lack: trim for 16 mm." in shown.text
    assert dict(shown.context["check"].facts)["Pieces"] == 2
    assert dict(shown.context["check"].facts)["Sizes"] == "cut sizes, without edge bands"
    assert dict(shown.context["check"].facts)["Edge band"] == "040: 0.800 m, 1mm: 2.410 m"
    make_job(parts=[{**GOVDE, "id": "p1", "edge_lo": None, "edge_dx": None, "thickness_mm": 16}], opti_mode="C")
    assert "This order exists already." in operator.get(f"{page_of(draft.pk)}?checked=1").text


def test_a_draft_that_another_person_changed_is_not_overwritten_and_what_was_typed_stays(make_person) -> None:
    operator, draft = make_person(), make_draft()
    opened = posted({**ROW, "length": "777"}, action="save", draft=draft)
    OrderDraft.objects.update(content=typed(order_id="S-2"), updated_at=Now() + timedelta(seconds=1))

    refused = operator.post(page_of(draft.pk), opened)

    assert (refused.status_code, "777" in refused.text) == (409, True)
    assert "someone changed this draft meanwhile" in refused.text
    assert OrderDraft.objects.get().content["fields"]["order_id"] == "S-2"
    send_draft(draft.pk, current_rules())
    as_new = operator.post(page_of(draft.pk), opened)
    assert (as_new.status_code, "777" in as_new.text) == (409, True)
    assert as_new.context["post_to"] != page_of(draft.pk)


def test_a_sent_draft_is_read_only_and_a_draft_can_be_deleted(make_person) -> None:
    operator, sent, spare = make_person(), make_draft(), make_draft(order_id="S-2")
    job, _ = send_draft(sent.pk, current_rules())

    shown = operator.get(page_of(sent.pk))
    assert "order-form" not in shown.text
    assert reverse("admin:orchestrator_job_change", args=[job.pk]) in shown.text
    assert operator.post(page_of(sent.pk), {"delete": "1"}).status_code == 404
    assert "Draft deleted." in operator.post(page_of(spare.pk), {"delete": "1"}, follow=True).text

    assert OrderDraft.objects.get() == sent
    listed = operator.get(LIST)
    assert "S-1001" in listed.text
    assert reverse("admin:orchestrator_job_change", args=[job.pk]) in listed.text


def test_viewers_read_and_do_nothing_else(make_person) -> None:
    viewer, draft = make_person(role="viewer"), make_draft()

    assert viewer.get(LIST).status_code == 200
    shown = viewer.get(page_of(draft.pk))
    assert (shown.status_code, "order-form" in shown.text) == (200, False)
    assert "New order" not in viewer.get("/admin/orchestrator/job/").text
    for address in (NEW, IMPORT, CUSTOMERS):
        assert viewer.get(address).status_code == 403, address
    assert viewer.post(IMPORT, {"file": io.BytesIO(b"x")}).status_code == 403
    for action in ("save", "check", "send", "delete"):
        assert viewer.post(page_of(draft.pk), posted(action=action, draft=draft)).status_code == 403, action
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"send": "1"},
        {"save": "1", "rows": "\x00\t\x00\n" + "\t" * 500},
        {"check": "1", "rows": '"never closed\n' + "a\tb\n" * 3},
        {"check": "1", "rows": '"' + "x" * 200_000},
        {"check": "1", "unit": "miles", "priority": "soon", "opti_mode": "Z", "revision": "1e9", "plate_width": "nan"},
        {"send": "1", "order_id": "x" * 5000, "customer_phone": "\ud7ff", "rows": "\u202e\t\ufeff\t18\tğ"},
        {"save": "1", "based_on": "2026-99-99T00:00:00"},
        {"save": "1", "based_on": "yesterday"},
    ],
    ids=str,
)
def test_no_input_breaks_the_page(body, make_person) -> None:
    answer = make_person().post(page_of(uuid7()), body, follow=True)

    assert answer.status_code in (200, 409)
    assert not Job.objects.exists()


def test_unknown_drafts_and_ids_that_are_none_are_not_found(make_person) -> None:
    operator = make_person()

    for address in (page_of(uuid7()), page_of("x"), f"{IMPORT}?draft={uuid7()}", f"{IMPORT}?draft=x"):
        assert operator.get(address).status_code == 404, address


def test_customers_are_found_by_the_beginning_of_a_phone_or_a_name(make_person) -> None:
    operator = make_person()
    for number in range(15):
        Customer.objects.create(phone=f"+9055500000{number:02}", name=f"İnci {number:02}")
    Customer.objects.create(phone="+905321112233", name="Ege Mobilya")

    def found(text: str) -> list[dict[str, str]]:
        return json.loads(operator.get(CUSTOMERS, {"q": text}).content)["customers"]

    assert found("ege") == [{"name": "Ege Mobilya", "phone": "+905321112233", "masked": "…2233"}]
    for text in ("0532", "532 111", "+90 532", "0090532"):
        assert [row["name"] for row in found(text)] == ["Ege Mobilya"], text
    assert len(found("İnci")) == 10
    assert found("") == found("%") == found("nobody") == []


def test_the_file_of_an_order_is_downloaded_from_its_job(make_person) -> None:
    viewer, draft = make_person(role="viewer"), make_draft(upload=UPLOAD)
    job, _ = send_draft(draft.pk, current_rules())
    page = viewer.get(reverse("admin:orchestrator_job_change", args=[job.pk]))
    file = job.order_files.get()
    address = reverse("admin:orchestrator_job_order_file", args=[job.pk, file.pk])
    assert address in page.text

    answer = viewer.get(address)

    assert (answer.content, answer["X-Content-Type-Options"]) == (b"PK sheet", "nosniff")
    assert answer["Content-Disposition"] == 'attachment; filename="S-1001.xlsx"'
    assert viewer.get(reverse("admin:orchestrator_job_order_file", args=[job.pk, file.pk + 1])).status_code == 404


def test_the_grid_offers_names_of_the_rules_and_of_recent_orders(make_person) -> None:
    make_job(parts=[{**GOVDE, "material_code": "OAK-22", "color": "Meşe"}])

    offered = make_person().get(NEW).context["suggestions"]

    assert (offered["materials"], offered["colours"]) == (["OAK-22"], ["Meşe"])
    assert offered["edges"] == ["040", "1mm", "2mm"]
    assert offered["thicknesses"] == ["3", "4", "5", "8", "18"]
