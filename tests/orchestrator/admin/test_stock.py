"""The store in the console: nothing of it without the rule, counting by phone, offcuts, labels, and the problem."""

from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from kilit.lock.identity import uuid7
from kilit.lock.models import Activity, Event
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.problems import low_stock
from tests.support.cutting_jobs import page_of
from tests.support.cutting_runs import work_until
from tests.support.stock import (
    HALF,
    MATERIAL,
    RULES,
    SMALL,
    in_state,
    kind_of_board,
    offcut,
    on_hand,
    ordered,
    plan_quickly,
    stock_adds_up,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer")]
BOARDS, OFFCUTS = "/admin/orchestrator/boardkind/", "/admin/orchestrator/stockitem/"
SIZES = {"length_mm": "2800", "width_mm": "2100", "place": "R1", "least": "2"}


@pytest.fixture
def shop(floor, rules_file, monkeypatch) -> None:
    rules_file.write_text(RULES)
    plan_quickly(monkeypatch)


@pytest.fixture
def operator(make_person) -> Client:
    client: Client = make_person("mehmet", role="operator")
    return client


def said(client: Client, kind: BoardKind, page: str, number: object, **more: object) -> Any:
    """Send the form as its page has it, or as an older page had it."""
    sent = {"number": number, "reason": "", "expected": on_hand(kind), **more}
    return client.post(f"{BOARDS}{kind.pk}/{page}/", sent, follow=True)


def adds_offcut(client: Client, **more: object) -> Any:
    sent = {**MATERIAL, "length_mm": "900", "width_mm": "400", "place": "R2", "new_id": uuid7(), **more}
    return client.post(f"{OFFCUTS}add/", sent, follow=True)


def test_a_shop_without_a_store_sees_nothing_of_it(make_person, rules_file) -> None:
    owner, kind, item = make_person("ayse", role="owner"), kind_of_board(1, least=9), offcut()

    pages = [BOARDS, OFFCUTS, f"{BOARDS}add/", f"{BOARDS}{kind.pk}/count/", f"{OFFCUTS}{item.pk}/change/"]
    assert [owner.get(page).status_code for page in pages] == [403] * 5
    assert "boardkind" not in owner.get("/admin/orchestrator/job/").text
    assert list(low_stock(None)) == []
    assert "Stock" not in owner.get("/admin/orchestrator/rulesversion/").text


@pytest.mark.usefixtures("shop")
def test_the_menu_and_the_rules_have_it_with_the_rule(operator) -> None:
    assert BOARDS in operator.get("/admin/orchestrator/job/").text
    assert "offcuts from 600 × 200 mm" in operator.get("/admin/orchestrator/rulesversion/").text


@pytest.mark.usefixtures("shop")
def test_an_operator_adds_a_kind_and_its_boards_and_counts_them(operator) -> None:
    added = operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES}, follow=True)
    kind = BoardKind.objects.get()
    assert (added.status_code, kind.words) == (200, "MAT-01 Beyaz 18 mm 2800 × 2100")

    assert "12 boards came." in said(operator, kind, "receive", 12).text
    assert "Counted 12, as expected." in said(operator, kind, "count", 12, expected=12).text
    assert "Counted 10: 2 fewer than expected." in said(operator, kind, "count", 10, expected=12).text
    assert "There are 10 now, not 12" in said(operator, kind, "count", 11, expected=12).text
    assert "taken out" not in said(operator, kind, "take-out", 1).text
    assert "1 board was taken out." in said(operator, kind, "take-out", 1, reason="broken").text
    assert "Only 9 of these boards are available" in said(operator, kind, "take-out", 10, reason="broken").text

    assert in_state(board=kind) == {"AVAILABLE": 9, "SCRAPPED": 3}
    took = Activity.objects.filter(queue="stock_item", verb="take_out", message="broken").get()
    assert (took.person, took.rows) == ("mehmet", 1)
    assert "9 available, 0 reserved" in operator.get(f"{BOARDS}{kind.pk}/change/").text


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("page", "there"), [("receive", {"AVAILABLE": 15}), ("take-out", {"AVAILABLE": 5, "SCRAPPED": 5})]
)
def test_a_number_that_is_sent_twice_counts_once(operator, page, there) -> None:
    kind = kind_of_board(10)
    form = operator.get(f"{BOARDS}{kind.pk}/{page}/").text
    assert 'name="expected" value="10"' in form

    said(operator, kind, page, 5, expected=10, reason="sold")
    again = said(operator, kind, page, 5, expected=10, reason="sold")

    assert f"There are {there['AVAILABLE']} now, not 10: " in again.text
    assert f'name="expected" value="{there["AVAILABLE"]}"' in again.text
    assert in_state(board=kind) == there


@pytest.mark.usefixtures("shop")
def test_boards_that_are_received_by_many_at_once_are_received_once(transactional_db, operator, in_threads) -> None:
    kind = kind_of_board(1)

    in_threads(lambda _: said(operator, kind, "receive", 5, expected=1), count=4)

    assert in_state(board=kind) == {"AVAILABLE": 6}


@pytest.mark.usefixtures("shop")
def test_an_offcut_that_is_sent_twice_is_added_once(operator) -> None:
    assert 'name="new_id" value="' in operator.get(f"{OFFCUTS}add/").text
    new_id = uuid7()

    adds_offcut(operator, new_id=new_id)
    again = adds_offcut(operator, new_id=new_id)
    without = adds_offcut(operator, new_id="x")

    assert "This offcut is in stock already" in again.text
    assert without.status_code == 200
    assert [item.pk for item in StockItem.objects.all()] == [new_id]


@pytest.mark.usefixtures("shop")
def test_numbers_that_cannot_be_are_refused(operator) -> None:
    kind = kind_of_board(1)

    for number in ("-1", "x", "1.5", "99999999", ""):
        assert said(operator, kind, "receive", number).status_code == 200
    for size in (
        {"length_mm": "0"},
        {"length_mm": "2000"},
        {"thickness_mm": "x"},
        {"width_mm": "1.205"},
        {"least": "-1"},
    ):
        assert operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES, **size}).status_code == 200
    assert operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES}).status_code == 200  # there is this kind already

    assert (in_state(), BoardKind.objects.count()) == ({"AVAILABLE": 1}, 1)


@pytest.mark.usefixtures("shop")
def test_a_viewer_looks_and_changes_nothing(make_person) -> None:
    viewer, kind, item = make_person("can", role="viewer"), kind_of_board(1), offcut()

    assert viewer.get(BOARDS).status_code == viewer.get(f"{OFFCUTS}{item.pk}/change/").status_code == 200
    assert said(viewer, kind, "count", 0, expected=1).status_code == 403
    assert viewer.post(f"{OFFCUTS}{item.pk}/take-out/", {"reason": "x"}).status_code == 403
    assert viewer.post(f"{OFFCUTS}add/", {}).status_code == 403
    assert in_state() == {"AVAILABLE": 2}


@pytest.mark.usefixtures("shop")
def test_an_offcut_is_taken_out_and_put_back_with_a_reason(operator) -> None:
    adds_offcut(operator)
    item = StockItem.objects.get()
    page = f"{OFFCUTS}{item.pk}/"

    operator.post(f"{page}take-out/", {"reason": ""})
    assert in_state() == {"AVAILABLE": 1}
    operator.post(f"{page}take-out/", {"reason": "broken"})
    assert in_state() == {"SCRAPPED": 1}
    again = operator.post(f"{page}take-out/", {"reason": "broken"}, follow=True)
    assert "it is in another state by now" in again.text
    operator.post(f"{page}restore/", {"reason": "found behind the rack"})
    operator.post(f"{page}place/", {"place": "R7"})

    item.refresh_from_db()
    assert (item.status, item.place) == ("AVAILABLE", "R7")
    shown = operator.get(f"{page}change/").text
    for text in ("900 × 400 mm", item.code, "found behind the rack", "Taken out by mehmet", "Put in another place"):
        assert text in shown
    assert "R7" in operator.get(OFFCUTS).text


@pytest.mark.usefixtures("shop")
def test_offcuts_are_found_by_state_material_and_code(operator) -> None:
    kind = kind_of_board(2)
    beyaz, green, used = offcut(), offcut(color="Meşe"), offcut(material_code="MDFLAM")
    used.move("take_out")

    def listed(**query: str) -> set[str]:
        return {row.code for row in operator.get(OFFCUTS, query).context["cl"].result_list}

    assert listed() == {beyaz.code, green.code, used.code}
    assert listed(q=beyaz.code) == listed(q=beyaz.code[:5].lower()) == {beyaz.code}
    assert listed(q="mdf") == {used.code}
    assert listed(q="MEŞ") == {green.code}
    assert listed(status="AVAILABLE") == {beyaz.code, green.code}
    assert listed(status="AVAILABLE", material="MAT-01", q="Beyaz") == {beyaz.code}
    assert listed(q=kind.items.first().code) == set(), "a board is no offcut"


def test_no_two_items_have_one_code_and_none_changes(sql) -> None:
    first, second = (
        StockItem(**MATERIAL, length_mm=900, width_mm=400, id=UUID(int=n << 64 | 0xD62712)) for n in (1, 2)
    )
    for item in (first, second):
        item.save()
        item.refresh_from_db()

    assert (first.code, second.code) == ("D62712", "D62712-2")
    with pytest.raises(IntegrityError), transaction.atomic():
        sql("UPDATE orchestrator_stockitem SET code = 'X'")


@pytest.mark.usefixtures("shop")
def test_ctrl_k_finds_an_offcut_by_its_code(operator) -> None:
    kind_of_board(2)
    item = offcut(place="R7")

    found = operator.get("/admin/search/", {"s": item.code}).text

    assert f"{OFFCUTS}{item.pk}/change/" in found
    assert "MAT-01 Beyaz 18 mm 1300 × 500 mm" in found


@pytest.mark.usefixtures("shop")
def test_the_form_takes_a_comma_and_refuses_what_could_be_a_thousand(operator) -> None:
    sizes = {"thickness_mm": "18,0", "length_mm": "2.800,0", "width_mm": "2100,5"}
    operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES, **sizes})
    adds_offcut(operator, length_mm="1200,5", width_mm="400")
    refused = adds_offcut(operator, length_mm="1.200")

    kind, item = BoardKind.objects.get(), StockItem.objects.get()
    assert (kind.thickness_mm, kind.length_mm, kind.width_mm) == (18, 2800, Decimal("2100.5"))
    assert (item.length_mm, item.width_mm) == (Decimal("1200.5"), 400)
    assert "Ambiguous: 1.200 could be 1200 or 1.200." in refused.text


@pytest.mark.usefixtures("shop")
def test_a_kind_that_differs_in_its_letters_only_gets_a_word(operator) -> None:
    kind_of_board(color="Iroko")
    alike = {**MATERIAL, **SIZES, "material_code": "mat-01", "color": "ıROKO"}

    warned = operator.post(f"{BOARDS}add/", alike, follow=True)
    other = operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES, "color": "Meşe"}, follow=True)
    again = operator.post(f"{BOARDS}add/", {**MATERIAL, **SIZES, "color": "Iroko", "width_mm": "1830"}, follow=True)

    assert "There is MAT-01 Iroko 18 mm, too, which differs in its letters only" in warned.text
    assert "letters only" not in other.text
    assert "There is mat-01 ıROKO 18 mm, too" in again.text
    assert BoardKind.objects.count() == 4


@pytest.mark.usefixtures("shop")
def test_a_job_shows_what_it_takes_and_prints_labels_of_what_it_leaves(operator) -> None:
    kind, rest = kind_of_board(1), offcut(place="R2")
    small, large = (work_until(ordered(part), "XML_READY") for part in (SMALL, {**HALF, "quantity": 2}))

    assert all(text in page_of(operator, small).text for text in (rest.code, "R2"))
    shown = page_of(operator, large).text
    assert "MAT-01 Beyaz 18 mm 2800 × 2100 mm: 1 board is missing." in shown
    labels = operator.get(f"{OFFCUTS}labels/{large.pk}/")
    assert f"It leaves {labels.text.count('<svg')} offcuts." in shown
    assert labels.text.count("<svg") == len(large.planning["stock"]["offcuts"]) == 4
    assert operator.get(f"{OFFCUTS}labels/{uuid4()}/").status_code == 404

    assert kind.words.split(" 2800")[0] in operator.get(f"{BOARDS}{kind.pk}/label/").text
    assert rest.code in operator.get(f"{OFFCUTS}{rest.pk}/label/").text


@pytest.mark.usefixtures("shop")
def test_boards_that_run_out_are_a_problem() -> None:
    kind_of_board(5, least=5)
    low = kind_of_board(3, least=4, color="Meşe")

    (problem,) = low_stock(None)

    assert (problem.title, problem.cause) == ("Boards run out: 1 kind", "3 available, at least 4 are wanted")
    assert [place.name for place in problem.where] == [low.words]


@pytest.mark.usefixtures("shop")
def test_a_board_that_was_not_used_is_put_back(operator, api) -> None:
    kind_of_board(1)
    job = work_until(ordered(HALF), "XML_READY")
    api.post(f"jobs/{job.pk}/cut-by-hand", {"by": "Mehmet"})
    item = StockItem.objects.get(job=job)

    operator.post(f"{OFFCUTS}{item.pk}/put-back/", {"reason": "cut from another"})

    item.refresh_from_db()
    assert (item.status, item.job, Job.objects.get().status) == ("AVAILABLE", None, "DONE")
    assert Event.objects.of(item).last().message == "cut from another"


@pytest.mark.usefixtures("shop")
def test_a_board_is_given_back_only_by_a_job_that_has_failed(operator) -> None:
    """It has kept it, because the saw has cut some of its boards."""
    kind_of_board(1)
    job = work_until(ordered(HALF), "XML_READY")
    (item,) = job.stock.all()
    page = f"{OFFCUTS}{item.pk}/"

    assert "Give back" not in operator.get(f"{page}change/").text
    refused = operator.post(f"{page}release/", {"reason": "still there"}, follow=True)
    assert "Its job has not failed" in refused.text
    job.solution_files.update(acknowledged_as="cut.xml")
    Job.objects.filter(pk=job.pk).cancel_uncut(error_code="E_CANCELLED")
    assert in_state() == {"RESERVED": 1}
    assert "Give back" in operator.get(f"{page}change/").text
    operator.post(f"{page}release/", {"reason": "still there"})

    assert (in_state(), stock_adds_up()) == ({"AVAILABLE": 1}, [])
    assert "Given back by mehmet" in operator.get(f"{page}change/").text
