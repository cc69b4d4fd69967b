"""A plan reserves what it takes from the store, and what becomes of the job becomes of that, by the database itself."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from kilit.api.errors import ApiError
from kilit.audit.run import audit
from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Activity, Event
from orchestrator.models import BoardKind, Job, SolutionFile, StockItem
from orchestrator.optiplanning.solution import plan_of
from orchestrator.workflow import decisions, planning_step, stock
from orchestrator.workflow.by_hand import cut_by_hand
from orchestrator.workflow.runner import tick
from orchestrator.workflow.stock import StockRefused
from tests.support.cutting_runs import due_again, work_until
from tests.support.plans import run_sql
from tests.support.stock import (
    HALF,
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
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer", "shop")]


@pytest.fixture
def shop(floor, rules_file, monkeypatch) -> None:
    """Lay out a shop with a store, whose people cut."""
    rules_file.write_text(RULES)
    plan_quickly(monkeypatch)


def planned(*parts: Any, **changes: Any) -> Job:
    return work_until(ordered(*parts, **changes), "XML_READY")


def cut(job: Job) -> None:
    with acting_as("operator:ayse"):
        cut_by_hand(job.pk)


def verbs(row: StockItem | Job) -> list[str]:
    return [event.details["verb"] for event in Event.objects.of(row) if "verb" in event.details]


def test_a_plan_reserves_boards_and_a_finished_job_books_them_and_leaves_offcuts() -> None:
    kind = kind_of_board(3)

    job = planned({**HALF, "quantity": 2})
    assert in_state(board=kind) == {"AVAILABLE": 1, "RESERVED": 2}
    assert not StockItem.objects.filter(board=None).exists()
    cut(job)

    assert in_state(board=kind) == {"AVAILABLE": 1, "USED": 2}
    left = StockItem.objects.filter(made_by=job)
    assert (
        sorted((float(item.length_mm), float(item.width_mm)) for item in left) == [(786, 1200)] * 2 + [(2790, 886)] * 2
    )
    assert {str(item.pk) for item in left} == {each["id"] for each in Job.objects.get().planning["stock"]["offcuts"]}
    assert verbs(StockItem.objects.filter(job=job).first()) == ["reserve", "book"]
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])
    # The job's own moves are recorded as ever, and what follows from them is not told twice.
    assert verbs(job)[-2:] == ["cut_by_hand", "finish_by_hand"]
    assert not Activity.objects.filter(queue="stock_item", person="ayse").exists()


def test_offcuts_come_first_and_are_used_once() -> None:
    kind, rest = kind_of_board(1), offcut(place="R2")

    first, second = planned(SMALL), planned(SMALL)

    rest.refresh_from_db()
    assert (rest.status, rest.job) == ("RESERVED", first)
    assert in_state(board=kind, job=second) == {"RESERVED": 1}
    assert stock_adds_up() == []


@pytest.mark.parametrize(
    "material", [{"color": "Meşe"}, {"material_code": "MAT-9"}, {"thickness_mm": 5}, {"length": 1200}]
)
def test_what_is_of_another_material_or_too_small_is_left(material) -> None:
    rest = offcut(**material)

    planned(SMALL)

    rest.refresh_from_db()
    assert rest.status == "AVAILABLE"


def test_an_offcut_that_saves_no_board_is_left() -> None:
    kind, rest = kind_of_board(1), offcut()

    planned({**SMALL, "quantity": 3})

    rest.refresh_from_db()
    assert (rest.status, in_state(board=kind)) == ("AVAILABLE", {"RESERVED": 1})


def test_a_part_that_only_a_board_in_stock_takes_is_cut_from_it() -> None:
    longer = kind_of_board(1, length_mm=3660, width_mm=1830)

    planned({**HALF, "length_cm": 320})

    assert in_state(board=longer) == {"RESERVED": 1}


def test_a_cancelled_job_gives_back_and_is_planned_again_after_a_retry() -> None:
    kind, rest = kind_of_board(1), offcut()
    job = planned(SMALL)
    assert in_state(job=job) == {"RESERVED": 1}

    decisions.cancel(job.pk)
    assert in_state() == {"AVAILABLE": 2}
    assert Event.objects.of(job).last().details["verb"] == "cancel_uncut"
    another = planned(SMALL)
    decisions.retry(job.pk)
    due_again(job)
    work_until(job, "XML_READY")

    rest.refresh_from_db()
    assert rest.job == another
    assert in_state(board=kind, job=job) == {"RESERVED": 1}
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])


@pytest.mark.parametrize("joins", ["as planned", "one by one"])
def test_boards_that_lack_are_booked_if_they_came_meanwhile(joins: str) -> None:
    kind = kind_of_board(1)
    job = planned({**HALF, "quantity": 3})
    assert job.planning["stock"]["missing"] == [{"board": kind.pk, "number": 2}]

    stock.receive(kind, 5, expected=1)
    if joins == "one by one":  # A pick that is run again for each board would take others each time.
        run_sql("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_hashagg = off")
        run_sql("SET LOCAL enable_sort = off; SET LOCAL enable_material = off; SET LOCAL enable_indexscan = off")
    cut(job)

    assert in_state(board=kind) == {"AVAILABLE": 3, "USED": 3}
    assert stock_adds_up() == []


def test_boards_of_another_size_are_used_where_the_usual_one_is_not_in_stock() -> None:
    smaller = kind_of_board(1, length_mm=2440, width_mm=1830)

    planned(HALF)
    assert in_state(board=smaller) == {"RESERVED": 1}
    planned({**HALF, "quantity": 2})  # there is none of it left

    assert in_state() == {"RESERVED": 1}
    assert planned(HALF, plate_size={"width_mm": 2100, "height_mm": 2800}).planning["stock"]["reserved"] == 0
    assert stock_adds_up() == []


def test_what_the_saw_may_have_cut_stays_reserved_until_that_is_known(rules_file, floor) -> None:
    """There is a saw, which takes the file and does not answer."""
    rules_file.write_text(RULES.replace('"cutBy": "hand"', '"cutBy": "saw"'))
    kind = kind_of_board(1)
    job = work_until(ordered(HALF), "XML_READY")
    while not list(floor.inbox.iterdir()):
        tick(patient=True)
    for file in floor.inbox.iterdir():
        file.unlink()

    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(hours=1))
    due_again(job)
    work_until(job, "FAILED")
    assert (job.error_code, in_state(board=kind)) == ("E_HANDOVER_UNKNOWN", {"RESERVED": 1})
    assert stock_adds_up() == []

    decisions.confirm_cut(job.pk)
    assert in_state(board=kind) == {"USED": 1}
    assert stock_adds_up() == []


def test_a_shop_without_a_store_has_none(rules_file) -> None:
    kind = kind_of_board(1)
    rules_file.write_text(RULES.replace(', "stock": {}', ""))

    job = planned(HALF)
    cut(job)

    assert "stock" not in job.planning
    assert in_state() == {"AVAILABLE": 1}
    assert kind.items.count() == 1


def test_a_plan_that_cannot_be_stored_reserves_nothing(monkeypatch) -> None:
    kind_of_board(1)
    job = ordered(HALF)

    def fail(*_args: Any, **_options: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(planning_step, "store_solution", fail)
        work_until(job, "FAILED")

    assert in_state() == {"AVAILABLE": 1}
    assert not Event.objects.filter(queue="stock_item", to_state="RESERVED").exists()


def test_two_plans_never_have_the_same_offcut(transactional_db, monkeypatch, in_threads) -> None:
    """Each of two runners plans with the offcut before either has stored its plan."""
    rest, together = offcut(), threading.Barrier(2)
    jobs, offered = [ordered(SMALL), ordered(SMALL)], planning_step.plates_in_stock

    def offer_at_once(*args: Any) -> Any:
        plates = offered(*args)
        if together.n_waiting < 2 and not StockItem.objects.filter(status="RESERVED").exists():
            together.wait(timeout=PATIENCE)
        return plates

    monkeypatch.setattr(planning_step, "plates_in_stock", offer_at_once)
    in_threads(lambda _: [tick(patient=True) for _ in range(6)], count=2)
    for job in jobs:
        due_again(job)
        work_until(job, "XML_READY")

    assert list(Event.objects.of(rest).filter(to_state="RESERVED").values_list("details__verb", flat=True)) == [
        "reserve"
    ]
    plates = [
        pattern.length for file in SolutionFile.objects.all() for pattern in plan_of(file.pk, file.sha256).patterns
    ]
    assert sorted(plates) == [1300, 2800]
    assert stock_adds_up() == []


def test_eight_plans_share_the_last_boards(transactional_db, in_threads) -> None:
    kind = kind_of_board(5)
    jobs = [ordered(HALF) for _ in range(8)]

    in_threads(lambda _: [tick(patient=True) for _ in range(10)], count=4)
    for job in jobs:
        work_until(job, "XML_READY")

    reserved = [job.planning["stock"]["reserved"] for job in Job.objects.all()]
    assert (sorted(reserved), in_state(board=kind)) == ([0] * 3 + [1] * 5, {"RESERVED": 5})
    assert stock_adds_up() == []


def test_a_count_says_how_many_there_are() -> None:
    kind = kind_of_board(5)
    planned(HALF)

    with acting_as("operator:ayse", reason="Inventory"):
        assert stock.count(kind, 3, expected=5) == -2
        assert stock.count(kind, 3, expected=3) == 0
        assert stock.count(kind, 6, expected=3) == 3

    assert in_state(board=kind) == {"AVAILABLE": 5, "RESERVED": 1, "SCRAPPED": 2}
    gone = StockItem.objects.filter(status="SCRAPPED").first()
    assert (Event.objects.of(gone).last().message, Event.objects.of(gone).last().actor) == (
        "Inventory",
        "operator:ayse",
    )
    assert stock_adds_up() == []


def test_a_count_of_what_changed_meanwhile_or_of_less_than_is_reserved_is_refused() -> None:
    kind = kind_of_board(5)
    planned({**HALF, "quantity": 3})

    with pytest.raises(StockRefused, match="There are 5 now, not 4"):
        stock.count(kind, 4, expected=4)
    with pytest.raises(StockRefused, match="have reserved 3"):
        stock.count(kind, 2, expected=5)
    with pytest.raises(StockRefused, match="Only 2 of"):
        stock.take_out(kind, 3, expected=5)

    assert in_state(board=kind) == {"AVAILABLE": 2, "RESERVED": 3}


@pytest.mark.parametrize(("before", "scrapped"), [(10, {"SCRAPPED": 3}), (0, {})])
def test_people_who_count_at_once_count_once(transactional_db, in_threads, before, scrapped) -> None:
    """Also where there is no board yet whose row could be locked."""
    kind = kind_of_board(before)

    def count(_number: int) -> str:
        try:
            return str(stock.count(kind, 7, expected=before))
        except StockRefused:
            return "refused"

    assert sorted(in_threads(count, count=4)) == sorted([str(7 - before), "refused", "refused", "refused"])
    assert in_state(board=kind) == {"AVAILABLE": 7, **scrapped}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE orchestrator_stockitem SET status = 'USED'",
        "UPDATE orchestrator_stockitem SET status = 'RESERVED'",
        "UPDATE orchestrator_stockitem SET length_mm = 9000",
        "DELETE FROM orchestrator_stockitem",
        "UPDATE orchestrator_boardkind SET length_mm = 9000",
        "DELETE FROM orchestrator_boardkind",
    ],
)
def test_the_database_keeps_what_is_in_the_store(sql, statement: str) -> None:
    kind_of_board(1)

    with pytest.raises(IntegrityError), transaction.atomic():
        sql(statement)


def undo(_rng: random.Random) -> None:
    item = StockItem.objects.filter(status__in=["SCRAPPED", "USED"]).order_by("?").first()
    if item:
        item.move("restore" if item.status == "SCRAPPED" else "put_back", job=None)


def change_number(change: Callable[..., None], number: int) -> None:
    kind = BoardKind.objects.order_by("?").first()
    change(kind, number, expected=on_hand(kind))


def count_wrongly(rng: random.Random) -> None:
    kind = BoardKind.objects.order_by("?").first()
    number = on_hand(kind)
    stock.count(kind, max(0, number + rng.choice([-1, 1])), expected=number)


def retry(rng: random.Random) -> None:
    due_again(decisions.retry(some_job(rng)))


def some_job(_rng: random.Random) -> Any:
    return Job.objects.order_by("?").values_list("pk", flat=True).first() or uuid4()


ACTS = {
    "order": (4, lambda rng: ordered(rng.choice([SMALL, HALF, {**HALF, "quantity": 3}]))),
    "cut": (3, lambda rng: cut_by_hand(some_job(rng))),
    "cancel": (1, lambda rng: decisions.cancel(some_job(rng))),
    "retry": (1, retry),
    "receive": (1, lambda rng: change_number(stock.receive, rng.randint(1, 3))),
    "take out": (1, lambda _rng: change_number(stock.take_out, 1)),
    "count": (1, count_wrongly),
    "undo": (1, undo),
}


def test_a_storm_leaves_a_store_that_adds_up(transactional_db, in_threads, monkeypatch) -> None:
    """Orders, runners that die while they store a plan, cancellations, cutting, deliveries and counts, all at once."""
    kind_of_board(6)
    kind_of_board(3, length_mm=2440, width_mm=1830)
    for _ in range(4):
        offcut()
    cut(planned(HALF))  # what the storm may leave out by chance
    decisions.cancel(planned(HALF).pk)
    change_number(stock.take_out, 1)
    store, dice = planning_step.store_solution, random.Random(7)

    def store_or_die(*args: Any, **options: Any) -> None:
        store(*args, **options)
        if dice.random() < 0.2:
            raise RuntimeError("The runner dies before it commits.")

    monkeypatch.setattr(planning_step, "store_solution", store_or_die)
    weights = [weight for weight, _act in ACTS.values()]

    def live(number: int) -> None:
        rng = random.Random(number)
        for _ in range(15):
            _weight, act = rng.choices([*ACTS.values()], weights)[0]
            with acting_as("operator:ayse"), suppress(ApiError, MoveRefused, StockRefused):
                act(rng)
            with acting_as("runner:storm"):
                tick(patient=True)

    in_threads(live, count=4)

    verbs_seen = set(Event.objects.filter(queue="stock_item").values_list("details__verb", flat=True))
    assert {"reserve", "book", "give_back", "take_out"} <= verbs_seen
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])
