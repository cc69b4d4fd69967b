"""OptiPlanning plans with plates of its own: its solution reserves boards of their size, and waits for none."""

import json

import pytest

from kilit.audit.run import audit
from orchestrator.models import Job, SolutionFile, StockItem
from orchestrator.workflow import decisions, steps, stock
from orchestrator.workflow.stock import StockRefused
from simulators.optiplanning.play import BOARD
from tests.support.cutting_handover import rejected, solved_job, with_the_saw
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import due_again, player, work_until
from tests.support.stock import in_state, kind_of_board, offcut, on_hand, stock_adds_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once", "customer", "shop")]
SIZE = {"length_mm": max(BOARD), "width_mm": min(BOARD)}


@pytest.fixture
def shop(floor, rules_file) -> None:
    rules_file.write_text(json.dumps({**SHIPPED, "stock": {}}))


def test_a_solution_reserves_boards_and_the_saw_books_them(floor) -> None:
    """An offcut that is as large as a board stays: OptiPlanning does not know it."""
    rest = offcut(*SIZE.values())
    other, kind = kind_of_board(3, **SIZE, color="Meşe"), kind_of_board(3, **SIZE)

    job = solved_job(floor)
    assert in_state(board=kind) == {"AVAILABLE": 2, "RESERVED": 1}
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert (in_state(board=kind), in_state(board=other)) == ({"AVAILABLE": 2, "USED": 1}, {"AVAILABLE": 3})
    assert StockItem.objects.get(pk=rest.pk).status == "AVAILABLE"
    left = StockItem.objects.filter(made_by=job)
    # 390 × 400 is waste.
    assert [(item.material_code, item.color, item.size) for item in left] == [("MAT-01", "Beyaz", "2800 × 1700")]
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])


@pytest.mark.parametrize("number", [0, 1])
def test_what_the_saw_refused_is_given_back_and_reserved_again_by_the_retry(floor, number: int) -> None:
    """Also where there is no board: the order goes on, and books one that has come meanwhile."""
    kind = kind_of_board(number, **SIZE)
    job = rejected(floor)
    assert in_state(board=kind) == ({"AVAILABLE": 1} if number else {})

    decisions.retry(job.pk)
    due_again(job)
    work_until(job, "XML_READY")
    assert in_state(board=kind) == ({"RESERVED": 1} if number else {})
    stock.receive(kind, 1, expected=on_hand(kind))
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert in_state(board=kind) == {**({"AVAILABLE": 1} if number else {}), "USED": 1}
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])


@pytest.mark.parametrize("has_stock", [True, False])
def test_where_the_store_has_no_such_boards_nothing_changes(floor, rules_file, has_stock: bool) -> None:
    """Neither where it has others, nor where there is no store."""
    rules_file.write_text(json.dumps({**SHIPPED, **({"stock": {}} if has_stock else {})}))
    kind_of_board(1, length_mm=2440, width_mm=1830)

    job = solved_job(floor)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert in_state(board__isnull=False) == {"AVAILABLE": 1}
    assert (job.planning is None) == (not has_stock)
    assert stock_adds_up() == []


def test_boards_of_a_job_that_failed_when_it_was_cut_in_part_are_given_back_one_by_one(floor) -> None:
    """The saw has cut one of two files, and refused the other: a person looks which boards are still there."""
    kind = kind_of_board(1, **SIZE)
    job = with_the_saw(floor)
    (item,) = kind.items.all()
    file = job.solution_files.get()
    SolutionFile.objects.create(
        job=job, name="second.xml", content=file.content, sha256=file.sha256, acknowledged_as="second.xml"
    )
    Job.objects.filter(pk=job.pk).update(xml_sha256=steps.digest([bytes(file.content)] * 2))
    with pytest.raises(StockRefused, match="has not failed"):
        stock.release(item)
    player(floor, only="saw", saw_fault="failed").look()
    due_again(job)
    work_until(job, "FAILED")
    assert (in_state(), stock_adds_up()) == ({"RESERVED": 1}, [])

    item.refresh_from_db()
    stock.release(item)
    assert (in_state(), stock_adds_up()) == ({"AVAILABLE": 1}, [])
    decisions.retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert in_state(board=kind) == {"USED": 1}
    assert stock_adds_up() == []
