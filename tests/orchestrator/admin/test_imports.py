"""Sheets in the console: a file becomes a draft with its faults, and once sent the job that the API would make."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.html import escape

from orchestrator.admin.order_form import ORIGINS
from orchestrator.demo import LIST as DEMO_LIST
from orchestrator.drafts.sending import send_draft
from orchestrator.drafts.typed import SHEET_FAULTS
from orchestrator.models import Job, OrderDraft, OrderFile
from orchestrator.planning.rules import current_rules
from orchestrator.sheets.sheet_order import Origin
from orchestrator.sheets.template import template_csv, template_xlsx
from tests.support.drafts import IMPORT, TEMPLATE, page_of
from tests.support.order_sheets import KITCHEN, LIST, send, xlsx

pytestmark = pytest.mark.django_db

GIVEN = {"material_code": "MAT-01", "edge": "0,4"}


def upload(client, content: bytes = LIST, name: str = "mutfak-12.xlsx", address: str = IMPORT, **fields: str):
    return client.post(address, {"file": SimpleUploadedFile(name, content), **fields}, follow=True)


def form_of(page) -> dict[str, str]:
    """Return the fields of a page's form as the browser would send them."""
    form, draft = page.context["form"], page.context["draft"]
    values = {name: form[name].value() or "" for name in form.fields}
    return {**values, "rows": page.context["grid"]["rows"], "based_on": draft.updated_at.isoformat()}


def test_a_list_fills_the_grid_says_what_came_from_where_and_is_the_job_of_the_api(make_person, make_api) -> None:
    operator = make_person()

    page = upload(operator, **GIVEN)

    draft = OrderDraft.objects.get()
    assert page.redirect_chain[-1][0] == f"{page_of(draft.pk)}?checked=1#order-check"
    assert (draft.order_id, draft.part_count, draft.file_name) == ("mutfak-12", 2, "mutfak-12.xlsx")
    assert draft.content["rows"][0] == {
        "material_code": "MAT-01",
        "color": "Beyaz",
        "thickness_mm": "18",
        "part_type": "GOVDE",
        "length": "720",
        "width": "560",
        "quantity": "2",
        "grain": "1",
        "edge_up": "040",
        "id": "2",
    }
    taken = {(row["label"], row["value"], row["origin"]) for row in page.context["sources"]}
    assert {("Colour", "Beyaz", "cell B1"), ("Material", "MAT-01", "your entry")} <= taken
    assert ("Order id", "mutfak-12", "the file's name") in taken
    assert [fault["where"] for fault in page.context["check"].listed()] == ["Customer's phone"]

    sent = operator.post(
        page_of(draft.pk), {**form_of(page), "customer_phone": "0555 123 45 67", "send": "1"}, follow=True
    )
    job = Job.objects.get()
    assert sent.redirect_chain[-1][0] == f"/admin/orchestrator/job/{job.pk}/change/"
    answer = send(make_api())
    assert (answer.status_code, answer.json()["job"]["id"]) == (200, str(job.pk))
    assert bytes(OrderFile.objects.get().content) == LIST


def test_a_fault_names_its_cell_also_after_rows_have_moved(make_person) -> None:
    operator = make_person()
    page = upload(operator, DEMO_LIST.encode(), "DEMO-1008.csv")
    assert [fault["where"] for fault in page.context["check"].listed()] == ["Row 2 · Length (cell B5)"]
    draft, form = OrderDraft.objects.get(), form_of(page)

    without_first = "\n".join(form["rows"].split("\n")[1:])
    moved = operator.post(page_of(draft.pk), {**form, "rows": without_first, "check": "1"}, follow=True)
    assert [fault["where"] for fault in moved.context["check"].listed()] == ["Row 1 · Length (cell B5)"]
    corrected = {**form_of(moved), "rows": form["rows"].replace("8OO", "800"), "send": "1"}
    operator.post(page_of(draft.pk), corrected)

    assert [part["length_cm"] for part in Job.objects.get().payload["parts"]] == ["72", "80", "71.5"]


def test_what_is_wrong_with_the_sheet_itself_is_sent_only_after_a_look(make_person) -> None:
    """A heading that does not say its unit: the grid shows the sizes, and cannot know whether they are right."""
    operator = make_person()
    rows = [["Sipariş no", "S-7"], ["Telefon", "0555 123 45 67"]]
    head = ["Malzeme kodu", "Boy", "En", "Adet", "Renk", "Kalınlık"]
    page = upload(operator, xlsx(*rows, head, ["MAT-01", 72, 56, 2, "Beyaz", 18]))
    assert [fault["where"] for fault in page.context["check"].listed()] == ["Cell B3", "Cell C3"]
    draft = OrderDraft.objects.get()

    again = operator.post(page_of(draft.pk), {**form_of(page), "send": "1"}, follow=True)
    assert "Not sent" in again.text
    assert not Job.objects.exists()
    operator.post(page_of(draft.pk), {**form_of(again), "sheet_checked": "1", "send": "1"})

    assert Job.objects.get().order_id == "S-7"
    draft.refresh_from_db()
    assert SHEET_FAULTS not in draft.content


def test_a_sheet_uploaded_again_replaces_the_parts_and_keeps_what_was_typed(make_person) -> None:
    operator = make_person()
    page = upload(operator, **GIVEN)
    draft = OrderDraft.objects.get()
    operator.post(page_of(draft.pk), {**form_of(page), "customer_phone": "0555 123 45 67", "save": "1"})

    other = xlsx(["18MM", "RENK: Beyaz"], [None, 300, 200, 5])
    upload(operator, other, "mutfak-13.xlsx", f"{IMPORT}?draft={draft.pk}", **GIVEN)

    draft.refresh_from_db()
    assert (OrderDraft.objects.count(), draft.part_count, draft.file_name) == (1, 1, "mutfak-13.xlsx")
    assert draft.content["fields"]["customer_phone"] == "0555 123 45 67"
    send_draft(draft.pk, current_rules())
    assert bytes(OrderFile.objects.get().content) == other


def test_a_file_with_several_sheets_asks_which(make_person) -> None:
    operator = make_person()
    two = xlsx([None, 720, 560, 2], Other=[[None, 300, 200, 1]])

    asked = upload(operator, two, **GIVEN)
    assert "Several sheets have parts" in asked.text
    assert '<option value="Other"' in asked.text
    assert not OrderDraft.objects.exists()
    upload(operator, two, sheet="Other", **GIVEN)

    assert OrderDraft.objects.get().content["rows"][0]["length"] == "300"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "empty.xlsx"),
        (b"PK\x03\x04 broken", "broken.xlsx"),
        (b"\xd0\xcf\x11\xe0" + b"\x00" * 600, "old.xls"),
        (b"a;b\n", "nothing.csv"),
        (b"\x00" * 100, "zero.csv"),
        (b"x" * (5 * 1024**2 + 1), "large.csv"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_a_message_and_no_draft(content, name, make_person) -> None:
    answer = upload(make_person(), content, name)

    assert answer.status_code == 200
    assert answer.context["form"].errors["file"]
    assert not OrderDraft.objects.exists()


def test_wrong_entries_and_names_are_shown_and_not_run(make_person) -> None:
    operator = make_person()

    answer = upload(operator, thickness_mm="thick", **GIVEN)
    assert answer.context["form"].errors["thickness_mm"] == ["Not a number."]
    assert operator.post(IMPORT).status_code == 200
    page = upload(operator, name="<img src=x>\u202e.xlsx", **GIVEN)

    assert escape("<img src=x>") in page.text
    assert "<img src=x" not in page.text


def test_the_template_is_offered_and_only_its_customer_is_missing(make_person) -> None:
    operator = make_person()
    assert TEMPLATE in operator.get(IMPORT).text
    content = operator.get(TEMPLATE).content
    assert content == template_xlsx()

    page = upload(operator, content, "template.xlsx")

    assert [fault.field for fault in page.context["check"].faults] == ["customer_phone"]
    assert page.context["form"]["unit"].value() == "cm"


SHEETS = {
    "a list": xlsx(*KITCHEN),
    "the template": template_csv(),
    "faults in the head": xlsx(["18MM", "Plaka: büyük", "Revizyon: x"], ["5MM"], [None, 720, "1.205", 1, 9, "9mm"]),
    "faults in every cell": xlsx(["18MM"], [None, 720, 560, 1], ["ARKALIK", "=1+1", "1.205", 0, 9, "9mm", "x"]),
}


@pytest.mark.parametrize("content", SHEETS.values(), ids=SHEETS)
def test_a_sheet_becomes_a_draft_whatever_is_wrong_with_it(make_person, content) -> None:
    answer = upload(make_person(), content)

    assert answer.status_code == 200
    assert (OrderDraft.objects.count(), Job.objects.count()) == (1, 0)


def test_every_origin_has_words() -> None:
    assert set(ORIGINS) == set(Origin)
