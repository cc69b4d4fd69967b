"""What is typed into the grid becomes the order that the API would get, or faults at their cells."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models.functions import Now
from django.utils import translation

from orchestrator.drafts.sending import DraftChanged, save_draft, send_draft
from orchestrator.drafts.typed import COLUMNS, InvalidDraft, TypedOrder
from orchestrator.models import OrderDraft, OrderFile
from orchestrator.orders.order import canonical, read_order
from orchestrator.planning.rules import current_rules
from tests.support.cutting_jobs import GOVDE, make_job, order_body
from tests.support.drafts import ROW, UPLOAD, make_draft, typed

FULL = {**ROW, "edge_lo": "1mm", "edge_dx": "yok", "id": "g1"}


def faults(content) -> list[tuple[int | None, str, str]]:
    with pytest.raises(InvalidDraft) as invalid:
        TypedOrder(content).check(current_rules())
    return [(fault.row, fault.field, fault.message) for fault in invalid.value.faults]


@pytest.mark.parametrize(
    ("unit", "length", "width"),
    [("mm", "1205", "400"), ("mm", "1.205,0", "400,00"), ("cm", "120,5", "40"), ("cm", "120.50", "40.0")],
)
def test_what_is_typed_is_the_order_that_the_api_gets(unit, length, width) -> None:
    order = TypedOrder(typed({**FULL, "length": length, "width": width}, unit=unit, opti_mode="A")).read(
        current_rules()
    )

    sent = order_body(parts=[{**GOVDE, "edge_dx": None}])
    assert canonical(order) == canonical(read_order(sent, default_mode="C"))


def test_empty_rows_are_none_and_empty_cells_have_their_defaults() -> None:
    bare = {**ROW, "part_type": "", "grain": " "}
    content = typed({}, bare, dict.fromkeys(COLUMNS, " "), {**ROW, "part_type": "ARKALIK", "thickness_mm": "5"})

    order = TypedOrder(content).read(current_rules())

    assert [(part.id, part.part_type, part.grain) for part in order.parts] == [("p2", "GOVDE", 0), ("p4", "ARKALIK", 1)]


TYPES = dict.fromkeys(("gövde", "GÖVDE", "Govde"), "GOVDE")
EDGES = {"1MM": "1mm", "0,40 mm": "040", "40": "040", "yok": None, "0": None, "Bant Yok": None}


@pytest.mark.parametrize(
    ("column", "text"), [*(("part_type", text) for text in TYPES), *(("edge_up", text) for text in EDGES)]
)
def test_types_and_edges_are_read_as_people_write_them(column, text) -> None:
    (part,) = TypedOrder(typed({**ROW, column: text})).read(current_rules()).parts

    assert getattr(part, column) == (TYPES | EDGES)[text]


def test_the_plate_has_both_sides() -> None:
    order = TypedOrder(typed(plate_width="1.830,0", plate_height="3660")).read(current_rules())

    assert order.plate_size is not None
    assert (order.plate_size.width_mm, order.plate_size.height_mm) == (Decimal(1830), Decimal(3660))
    assert faults(typed(plate_width="1830")) == [(None, "plate_height", "Fill this in.")]


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        ("length", "", "Fill this in."),
        ("length", "about 80", "Not a number."),
        ("length", "0", "Expected a size above 0, up to 5,000 mm."),
        ("width", "-4", "Expected a size above 0, up to 5,000 mm."),
        ("width", "1.205", "Ambiguous: 1.205 could be 1205 or 1.205. Write 1205 or 1.2050."),
        ("quantity", "2,5", "Expected a whole number from 1 to 9,999."),
        ("quantity", "many", "Not a number."),
        ("grain", "7", "Expected a whole number from 0 to 3."),
        ("part_type", "door", "Expected one of GOVDE, ARKALIK."),
        ("thickness_mm", "thick", "Not a number."),
        ("material_code", "", "Fill this in."),
        ("edge_up", "x", "Which edge band? The rules have: 040, 1mm, 2mm."),
        ("edge_dx", "3mm", "The rules have no edge band of 3 mm. They have: Bant Yok, 040, 1mm, 2mm."),
        ("color", "x" * 101, "At most 100 characters."),
        ("desc1", "a\x07b", "Control characters and broken Unicode are not allowed."),
    ],
)
def test_a_fault_is_at_its_cell(column, text, message) -> None:
    assert faults(typed({}, ROW, {**ROW, column: text})) == [(2, column, message)]


def test_faults_of_the_order_are_at_its_fields() -> None:
    assert faults(typed({}, order_id="", customer_phone="12", priority="soon")) == [
        (None, "order_id", "Fill this in."),
        (None, "customer_phone", "Not a valid phone number. Examples: 0555 123 45 67, +90 555 123 45 67."),
        (None, "parts", "The order has no parts."),
        (None, "priority", "Expected one of low, normal, high, urgent."),
    ]


def test_parts_that_no_plate_is_large_enough_for_are_faults_of_their_rows() -> None:
    found = faults(typed(ROW, {**ROW, "length": "3000"}, {**ROW, "length": "2000", "width": "2500", "id": "door"}))

    assert [(row, field) for row, field, _ in found] == [(1, ""), (2, "")]
    assert found[0][2] == "3000 × 400 mm is larger than the plate of 2100 × 2800 mm less 10 mm of trim."
    assert found[1][2].endswith("and its grain does not allow it to be turned.")


def test_the_same_id_twice_and_a_row_too_many_are_faults() -> None:
    assert faults(typed({**ROW, "id": "a"}, {**ROW, "id": "a"})) == [(1, "id", "“a” is the id of an earlier part.")]
    assert faults(typed(*[ROW] * 5001)) == [(None, "parts", "At most 5,000 parts; these are 5,001.")]


def test_of_very_many_faults_the_first_are_listed_and_the_others_counted() -> None:
    with translation.override("en"), pytest.raises(InvalidDraft) as invalid:
        TypedOrder(typed(*[{**ROW, "length": "x"}] * 150)).read(current_rules())

    assert (len(invalid.value.faults), invalid.value.beyond) == (100, 50)


@pytest.mark.django_db
def test_a_draft_is_sent_once_and_its_file_stays_with_the_job() -> None:
    draft = make_draft(upload=UPLOAD)

    job, is_known = send_draft(draft.pk, current_rules())
    again = send_draft(draft.pk, current_rules())

    assert (is_known, again) == (False, (job, True))
    draft.refresh_from_db()
    assert (draft.job, draft.file_content, draft.sent_at is not None) == (job, None, True)
    kept = OrderFile.objects.get()
    assert (kept.job, kept.name, bytes(kept.content)) == (job, "S-1001.xlsx", b"PK sheet")


@pytest.mark.django_db
def test_a_draft_of_an_order_that_exists_is_sent_as_that_job() -> None:
    existing = make_job(parts=[{**GOVDE, "id": "p1", "edge_lo": None, "edge_dx": None}], opti_mode="A")

    assert send_draft(make_draft(opti_mode="A").pk, current_rules()) == (existing, True)


@pytest.mark.django_db
def test_a_draft_with_a_fault_stays_a_draft() -> None:
    draft = make_draft({**ROW, "length": "3000"})

    with pytest.raises(InvalidDraft):
        send_draft(draft.pk, current_rules())

    draft.refresh_from_db()
    assert draft.job is None


@pytest.mark.django_db
def test_a_draft_that_another_user_changed_or_sent_is_not_overwritten() -> None:
    draft = make_draft()
    seen = draft.updated_at
    save_draft(draft.pk, typed(order_id="S-2"), based_on=seen)
    OrderDraft.objects.update(updated_at=Now() + timedelta(seconds=1))

    with pytest.raises(DraftChanged):
        save_draft(draft.pk, typed(order_id="S-3"), based_on=seen)
    save_draft(draft.pk, typed(order_id="S-2"), based_on=seen)  # the same click again

    draft.refresh_from_db()
    assert draft.order_id == "S-2"
    send_draft(draft.pk, current_rules())
    draft.refresh_from_db()
    with pytest.raises(DraftChanged):
        save_draft(draft.pk, typed(order_id="S-4"), based_on=draft.updated_at)


@pytest.mark.django_db
def test_only_old_drafts_that_were_not_sent_are_forgotten() -> None:
    old, sent, new = (make_draft(order_id=f"S-{number}") for number in range(3))
    send_draft(sent.pk, current_rules())
    OrderDraft.objects.exclude(pk=new.pk).update(updated_at=Now() - timedelta(days=91))

    assert OrderDraft.objects.forget_old() == 1

    assert {draft.pk for draft in OrderDraft.objects.all()} == {sent.pk, new.pk}
    assert old.pk not in OrderDraft.objects.values_list("pk", flat=True)
