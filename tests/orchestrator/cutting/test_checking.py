"""The checker finds every kind of plan that cannot be cut, and passes plans that can."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cutting.checking import faults, stages
from orchestrator.cutting.problem import Board, CuttingOrder, Drop, OrderPlan, Placed, Plate, ProblemPlan, Trim
from orchestrator.cutting.strips import NoPlate, plan_by_strips
from tests.support.cutting_plans import Sizes, kitchen, problem, random_problem, wardrobe
from tests.support.examples import few

PLATE = Plate(10_000, 5_000, cost=1, trim=Trim(left=100, bottom=100))
KERF = 40
# Two pieces of one size that may not be turned, and one that may.
TASK = problem(Sizes({(200, 100, False): 2, (150, 50, True): 1}), PLATE, kerf=KERF, stages=2)
GOOD = (Placed(0, 100, 100, 2000, 1000), Placed(0, 2140, 100, 2000, 1000), Placed(1, 100, 1140, 1500, 500))


def wrong(*parts: Placed, task=TASK, drops: tuple[Drop, ...] = (), copies: int = 1, plate: int = 0) -> list[str]:
    board = Board(plate, copies, parts, drops)
    return faults(CuttingOrder((task,)), OrderPlan((ProblemPlan((board,), 1, is_optimal=False, solver="by hand"),)))


def moved(number: int, **changes: int) -> tuple[Placed, ...]:
    return (*GOOD[:number], replace(GOOD[number], **changes), *GOOD[number + 1 :])


def test_a_plan_that_can_be_cut_has_no_faults() -> None:
    assert wrong(*GOOD) == []
    assert wrong(*moved(2, length=500, width=1500)) == []  # it may be turned


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (moved(1, x=2000), "Board 1: p1 and p1 overlap."),
        (moved(1, x=2139), "Board 1: p1 and p1 are nearer than the kerf."),
        (moved(0, x=99), "Board 1: p1 is not inside the plate less its trims."),
        (moved(0, y=99), "Board 1: p1 is not inside the plate less its trims."),
        (moved(1, x=8001), "Board 1: p1 is not inside the plate less its trims."),
        (moved(2, y=4501), "Board 1: p2 is not inside the plate less its trims."),
        (moved(0, length=1000, width=2000), "Board 1: p1 is turned against its grain."),
        (moved(0, length=1999), "Board 1: p1 has another size."),
        (moved(0, piece=2), "Board 1: A part is not of the order."),
        (GOOD[:2], "0 pieces of p2, not 1."),
        (GOOD[1:], "1 pieces of p1, not 2."),
        ((*GOOD, Placed(1, 5000, 1140, 1500, 500)), "2 pieces of p2, not 1."),
    ],
)
def test_what_cannot_be_cut_or_is_not_as_ordered_is_a_fault(parts, fault) -> None:
    assert fault in wrong(*parts)


def test_boards_count_as_often_as_they_are_cut() -> None:
    assert wrong(*GOOD, copies=2) == ["4 pieces of p1, not 2.", "2 pieces of p2, not 1."]
    assert "Board 1: there is no such plate." in wrong(*GOOD, plate=1)
    assert "Board 1: there is no such plate." in wrong(*GOOD, copies=0)


def test_no_more_plates_are_used_than_there_are() -> None:
    task = problem(Sizes({(200, 100, False): 2}), replace(PLATE, number=1, name="R-7"), kerf=KERF)

    assert wrong(GOOD[0], task=task, copies=2) == ["2 plates R-7 are used, of 1."]


def test_a_pinwheel_cannot_be_cut_from_edge_to_edge() -> None:
    """Four parts around a hole: each cut would go through one of them."""
    task = problem(Sizes({(200, 100, False): 2, (100, 200, False): 2}), PLATE, kerf=KERF)
    wheel = (
        Placed(0, 100, 100, 2000, 1000),
        Placed(1, 2140, 100, 1000, 2000),
        Placed(0, 1140, 2140, 2000, 1000),
        Placed(1, 100, 1140, 1000, 2000),
    )

    assert wrong(*wheel, task=task) == ["Board 1: Cuts from edge to edge cannot separate the parts."]


def test_cuts_take_no_more_stages_than_allowed() -> None:
    """A strip, in it two parts one above the other beside a third: rip, cross cut, recut."""
    sizes = Sizes({(200, 100, False): 1, (100, 48, False): 2, (400, 50, False): 1})
    parts = (
        Placed(0, 100, 100, 2000, 1000),
        Placed(1, 2140, 100, 1000, 480),
        Placed(1, 2140, 620, 1000, 480),
        Placed(2, 100, 1140, 4000, 500),
    )

    assert wrong(*parts, task=problem(sizes, PLATE, kerf=KERF, stages=3)) == []
    assert wrong(*parts, task=problem(sizes, PLATE, kerf=KERF, stages=2)) == [
        "Board 1: It takes 3 stages of cuts, not 2."
    ]
    assert stages(parts[:1], KERF) == 0


def test_an_offcut_overlaps_nothing() -> None:
    assert wrong(*GOOD, drops=(Drop(4180, 100, 5820, 1000),)) == []
    assert wrong(*GOOD, drops=(Drop(4000, 100, 5000, 1000),)) == ["Board 1: An offcut overlaps something."]
    assert "Board 1: An offcut is not inside the plate less its trims." in wrong(
        *GOOD, drops=(Drop(4180, 0, 900, 900),)
    )


def test_a_plan_of_another_order_is_refused() -> None:
    assert faults(CuttingOrder((TASK, TASK)), OrderPlan(())) == ["The plan is of another order."]


@pytest.mark.parametrize("task", [kitchen(1, 12), wardrobe(2, 6)])
def test_plans_by_strips_of_usual_orders_can_be_cut(task) -> None:
    plan = plan_by_strips(task)

    assert faults(CuttingOrder((task,)), OrderPlan((plan,))) == []
    assert plan.number >= plan.bound


@few(300)
@given(st.integers(0, 10**9))
def test_every_plan_by_strips_can_be_cut(seed) -> None:
    task = random_problem(seed)

    assert faults(CuttingOrder((task,)), OrderPlan((plan_by_strips(task),))) == []


def test_hostile_orders_are_planned_by_strips() -> None:
    """Parts that fit only turned, very many equal ones, one a plate, and as large as the plate less its trims."""
    length, width = (side / 10 for side in PLATE.usable)
    for sizes in (
        Sizes({(width, length, True): 3}),
        Sizes({(100, 60, True): 5_000}),
        Sizes({(length - 50, width - 30, False): 40}),
        Sizes({(length, width, False): 2, (width, length, True): 2}),
    ):
        task = problem(sizes, PLATE)
        assert faults(CuttingOrder((task,)), OrderPlan((plan_by_strips(task),))) == []


def test_a_part_without_a_plate_is_named() -> None:
    with pytest.raises(NoPlate, match="p1"):
        plan_by_strips(problem(Sizes({(1000, 500, False): 1}), PLATE))
    with pytest.raises(NoPlate, match="p1"):
        plan_by_strips(problem(Sizes({(900, 450, False): 2}), replace(PLATE, number=1)))
