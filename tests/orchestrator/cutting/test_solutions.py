"""An order becomes problems, and a plan a solution file that is read like OptiPlanning's."""

from decimal import Decimal

import pytest

from orchestrator.cutting.orders import cutting_order, tenths
from orchestrator.cutting.problem import (
    Board,
    CuttingOrder,
    CuttingProblem,
    Drop,
    OrderPlan,
    Piece,
    Placed,
    Plate,
    ProblemPlan,
    Trim,
)
from orchestrator.cutting.solution import write_solution
from orchestrator.errors import JobError
from orchestrator.optiplanning.solution import Rectangle, read_plan, read_solution
from orchestrator.orders.order import read_order
from orchestrator.schemas.orders import MOST_PIECES
from orchestrator.schemas.rules import Cutting
from tests.support.cutting_jobs import GOVDE, order_body
from tests.support.cutting_rules import rules_with


def ordered(*parts: dict, **rules: object) -> CuttingOrder:
    body = order_body(parts=[{**GOVDE, "id": f"p{number}", **part} for number, part in enumerate(parts)])
    return cutting_order(read_order(body, default_mode="C"), rules_with(**rules))


def test_each_material_colour_and_thickness_is_a_problem() -> None:
    order = ordered({}, {"color": "Antrasit"}, {"thickness_mm": 8}, {"material_code": "MAT-02"}, {"thickness_mm": 18.0})

    assert [len(problem.pieces) for problem in order.problems] == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ("grain", "piece"),
    [(0, (4000, 3000, True)), (1, (4000, 3000, False)), (2, (3000, 4000, False)), (3, (4000, 3000, True))],
)
def test_the_grain_runs_along_the_plate(grain, piece) -> None:
    (problem,) = ordered({"length_cm": 40, "width_cm": 30, "grain": grain}).problems

    assert [(one.length, one.width, one.can_turn) for one in problem.pieces] == [piece]


def test_the_plate_lies_lengthwise_and_loses_its_trim_on_two_sides() -> None:
    (problem,) = ordered({}, cutting={"kerfMm": 3.2, "stages": 2}).problems

    assert problem.plates == (Plate(28_000, 21_000, cost=58_800, trim=Trim(left=100, bottom=100)),)
    assert (problem.kerf, problem.stages) == (32, 2)


def test_a_part_as_large_as_the_plate_less_its_trim_fits_also_between_tenths() -> None:
    body = {"length_cm": 279.005, "width_cm": 209, "grain": 1}
    order = read_order(
        order_body(parts=[{**GOVDE, **body}], plate_size={"width_mm": 2100, "height_mm": 2800.05}), default_mode="C"
    )
    (problem,) = cutting_order(order, rules_with()).problems

    assert problem.plates[0].takes(problem.pieces[0])
    assert tenths(Decimal("2790.05")) == 27_901


def test_stock_comes_beside_the_plate_of_the_order() -> None:
    offcut = Plate(9_000, 6_000, cost=5, number=1, name="R-7")
    order = read_order(order_body(parts=[GOVDE]), default_mode="C")
    material = (GOVDE["material_code"], GOVDE["color"], Decimal(18))

    (problem,) = cutting_order(order, rules_with(), {material: [offcut]}).problems

    assert [plate.name for plate in problem.plates] == ["R-7", ""]


def test_an_order_with_too_many_pieces_is_refused() -> None:
    with pytest.raises(JobError, match=f"plans at most {MOST_PIECES}"):
        ordered(*[{"quantity": 9_999}] * 3)


def test_a_plan_is_read_like_a_solution_of_optiplanning() -> None:
    problem = CuttingProblem(
        "MAT-01",
        "Beyaz",
        Decimal(18),
        (Piece('a & "b"', 6_005, 4_000, 3, can_turn=False),),
        (Plate(28_000, 21_000, cost=1, trim=Trim(100, 100)),),
        kerf=40,
        stages=3,
    )
    board = Board(0, 3, (Placed(0, 100, 100, 6_005, 4_000),), (Drop(6_145, 100, 21_855, 4_000),))
    plan = OrderPlan((ProblemPlan((board,), 3, is_optimal=True, solver="packingsolver"),))

    content = write_solution(CuttingOrder((problem,)), plan, Cutting())

    read = read_plan(content)
    assert read
    assert read.patterns[0].parts == [Rectangle(10, 10, 600.5, 400, name='a & "b"')]
    assert read.patterns[0].drops == [Rectangle(614.5, 10, 2185.5, 400)]
    assert read.patterns[0].boards == 3
    figures = read_solution([content])
    # Two trims, one rip, one cross cut; a minute for each board, ten seconds for each cut.
    assert figures == {
        "algo": "packingsolver",
        "patterns": 1,
        "cuts": 12,
        "boards_m2": "17.64",
        "drops_m2": "2.6226",
        "time_s": "300",
        "drop_kinds": "1",
        "boards_by_material": {"MAT-01 18 mm": "17.64"},
    }
