"""The cuts of a board: trims first, then the strips, then each strip in turn; the same for OptiPlanning's boards."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cutting.checking import stages
from orchestrator.cutting.sequence import sequence_of
from orchestrator.cutting.solution import pattern_of
from orchestrator.cutting.strips import plan_by_strips
from orchestrator.optiplanning.solution import CutPattern, Rectangle
from tests.support.cutting_plans import random_problem
from tests.support.examples import few


def board(*parts: tuple, drops: tuple = ()) -> CutPattern:
    return CutPattern(1000, 500, parts=[Rectangle(*part) for part in parts], drops=[Rectangle(*drop) for drop in drops])


def lines(pattern: CutPattern) -> list[tuple]:
    sequence = sequence_of(pattern)
    assert sequence
    return [(cut.number, cut.stage, "x" if cut.is_across else "y", cut.at, cut.begin, cut.end) for cut in sequence.cuts]


def test_the_saw_trims_then_rips_then_cuts_each_strip() -> None:
    pattern = board(
        (10, 10, 300, 200, "a"), (314, 10, 300, 200, "b"), (10, 214, 400, 150, "c"), drops=((10, 368, 990, 132),)
    )

    assert lines(pattern) == [
        (1, 0, "x", 10, 0, 500),
        (2, 0, "y", 10, 10, 1000),
        (3, 1, "y", 210, 10, 1000),
        (4, 1, "y", 364, 10, 1000),
        (5, 2, "x", 310, 10, 210),
        (6, 2, "x", 614, 10, 210),
        (7, 2, "x", 410, 214, 364),
    ]


def test_parts_leave_the_saw_in_the_order_of_the_cuts() -> None:
    """The second strip holds a smaller part, which is trimmed before the last one is cut."""
    pattern = board((0, 200, 400, 90, "small"), (404, 200, 300, 100, "last"), (0, 0, 900, 196, "first"))

    sequence = sequence_of(pattern)

    assert sequence
    assert [part.name for part in sequence.parts] == ["first", "small", "last"]
    assert [cut.stage for cut in sequence.cuts] == [1, 1, 2, 2, 2, 3]


def test_boards_that_no_saw_can_cut_have_no_sequence() -> None:
    wheel = board((0, 0, 200, 100), (204, 0, 100, 200), (104, 204, 200, 100), (0, 104, 100, 200))

    assert sequence_of(wheel) is None


def test_an_empty_board_needs_no_cuts() -> None:
    assert lines(board()) == []


@few(200)
@given(st.integers(0, 10**9))
def test_every_part_of_a_plan_leaves_the_saw_once(seed) -> None:
    task = random_problem(seed)
    for cut_alike in plan_by_strips(task).boards:
        pattern = pattern_of(task, cut_alike)

        sequence = sequence_of(pattern)

        assert sequence
        assert sorted(map(repr, sequence.parts)) == sorted(map(repr, pattern.parts))
        assert [cut.number for cut in sequence.cuts] == list(range(1, len(sequence.cuts) + 1))
        needed = stages(cut_alike.parts, task.kerf) or 0
        assert max((cut.stage for cut in sequence.cuts), default=0) <= needed + 2  # trimming, and the offcuts
