"""Figures of an order against numbers worked out by hand, and what holds for every order."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.figures.job_figures import compute
from orchestrator.orders.order import read_order
from orchestrator.planning.rules import InvalidRules
from orchestrator.schemas.figures import JobFigures
from tests.support.cutting_rules import rules_with

PRICES = {
    "currency": "TRY",
    "vatPercent": 20,
    "boardPerM2": {"MDF-18-BYZ": 450, "*": 120.5},
    "edgePerMetre": {"1mm": 12, "040": 7.25},
    "perCut": 1.5,
    "perMachineMinute": 20,
    "wastePercent": 15,
}
BODY = {"part_type": "GOVDE", "material_code": "MDF-18-BYZ", "grain": 1, "color": "Beyaz", "thickness_mm": 18}
BACKING = {"part_type": "ARKALIK", "material_code": "HDF-5", "grain": 0, "color": "Beyaz", "thickness_mm": 5}
PARTS: list[dict[str, Any]] = [
    {"id": "side", **BODY, "length_cm": 120.5, "width_cm": 40, "quantity": 2}
    | {"edge_up": "1mm", "edge_lo": "1mm", "edge_sx": "040", "edge_dx": "Bant Yok"},
    {"id": "shelf", **BODY, "length_cm": 76.4, "width_cm": 38.25, "quantity": 3, "edge_up": "1mm"},
    {"id": "back", **BACKING, "length_cm": 118, "width_cm": 80, "quantity": 1, "edge_up": "2mm"},
]
SOLUTION = {"boards_m2": "5.88", "drops_m2": "2.1", "cuts": 31, "time_s": "754"}


def figures(*parts: dict[str, Any], solution: dict[str, Any] | None = None, **rules: Any) -> JobFigures:
    order = {"order_id": "S-1", "customer_phone": "0555 123 45 67", "parts": [*parts]}
    return compute(read_order(order, default_mode="C"), rules_with(**rules), solution)


def lines(found: JobFigures) -> list[tuple[str, ...]]:
    assert found.amounts
    return [(line.kind, line.name, str(line.quantity), str(line.amount)) for line in found.amounts.lines]


def test_areas_and_edge_band_of_an_order_worked_out_by_hand() -> None:
    found = figures(*PARTS)

    assert found.pieces == 6  # 2 + 3 + 1
    # side:  1205 × 400   × 2 =   964,000 mm²
    # shelf:  764 × 382.5 × 3 =   876,690 mm²; both are of one board: 1,840,690 mm² = 1.84069 m²
    # back:  1180 × 800   × 1 =   944,000 mm² = 0.944 m²
    assert [(each.material_code, each.area_m2) for each in found.materials] == [
        ("MDF-18-BYZ", Decimal("1.841")),
        ("HDF-5", Decimal("0.944")),
    ]
    assert found.parts_m2 == Decimal("2.785")
    # 1mm: side up and lo 1205 × 2 × 2 = 4,820 mm, shelf up 764 × 3 = 2,292 mm; together 7.112 m
    # 040: side sx 400 × 2 = 800 mm = 0.8 m; "Bant Yok" is no band, and a backing has none
    assert {each.edge: each.metres for each in found.edges} == {"1mm": Decimal("7.112"), "040": Decimal("0.800")}
    assert (found.boards_m2, found.yield_percent, found.cuts, found.amounts) == (None, None, None, None)


def test_amounts_of_a_solved_order_worked_out_by_hand() -> None:
    found = figures(*PARTS, solution=SOLUTION, prices=PRICES)

    assert (found.boards_m2, found.drops_m2) == (Decimal("5.880"), Decimal("2.100"))
    assert found.yield_percent == Decimal("47.4")  # 2.785 / 5.88 = 0.47364
    assert (found.cuts, found.machine_minutes) == (31, Decimal("12.567"))  # 754 / 60 = 12.5667
    # Boards are shared by area: 5.88 × 1.841 / 2.785 = 3.88692, so 3.887; the rest is 5.88 - 3.887 = 1.993.
    assert lines(found) == [
        ("boards", "MDF-18-BYZ 18 mm", "3.887", "1749.15"),  # 3.887 × 450
        ("boards", "HDF-5 5 mm", "1.993", "240.16"),  # 1.993 × 120.5 = 240.1565
        ("edge", "040", "0.800", "5.80"),  # 0.8 × 7.25
        ("edge", "1mm", "7.112", "85.34"),  # 7.112 × 12 = 85.344
        ("cuts", "", "31", "46.50"),  # 31 × 1.5
        ("machine", "", "12.567", "251.34"),  # 12.567 × 20
    ]
    amounts = found.amounts
    assert amounts is not None
    assert (amounts.basis, amounts.currency, amounts.missing) == ("solution", "TRY", ())
    assert amounts.net == Decimal("2378.29")  # 1749.15 + 240.16 + 5.80 + 85.34 + 46.50 + 251.34
    assert amounts.vat == Decimal("475.66")  # 2378.29 × 0.2 = 475.658
    assert amounts.gross == Decimal("2853.95")


def test_boards_are_shared_as_the_solution_cuts_them() -> None:
    """A backing needs a whole board of its own, however small its parts are."""
    patterns = {"MDF-18-BYZ": "5.88", "HDF-5": "5.88"}
    found = figures(*PARTS, solution=SOLUTION | {"boards_m2": "11.76", "boards_by_material": patterns})

    assert [each.boards_m2 for each in found.materials] == [Decimal("5.880"), Decimal("5.880")]

    # Without those of one material they are shared by the area of the parts: 11.76 × 1.841 / 2.785 = 7.77384.
    found = figures(*PARTS, solution=SOLUTION | {"boards_m2": "11.76", "boards_by_material": {"HDF-5": "5.88"}})

    assert [each.boards_m2 for each in found.materials] == [Decimal("7.774"), Decimal("3.986")]


def test_an_order_without_a_solution_has_an_estimate() -> None:
    found = figures(*PARTS, prices=PRICES)

    assert lines(found) == [
        ("boards", "MDF-18-BYZ 18 mm", "2.117", "952.65"),  # 1.841 × 1.15 = 2.11715
        ("boards", "HDF-5 5 mm", "1.086", "130.86"),  # 0.944 × 1.15 = 1.0856; × 120.5 = 130.863
        ("edge", "040", "0.800", "5.80"),
        ("edge", "1mm", "7.112", "85.34"),
    ]
    assert found.amounts
    assert (found.amounts.basis, found.amounts.waste_percent) == ("estimate", 15)
    assert found.amounts.net == Decimal("1174.65")


def test_halves_are_rounded_up_in_quantities_lines_and_vat() -> None:
    tiny = {"id": "strip", **BODY, "length_cm": 0.45, "width_cm": 10, "quantity": 1, "edge_up": "1mm"}
    prices = PRICES | {"boardPerM2": {"*": 0}, "edgePerMetre": {"1mm": 9}, "vatPercent": 50}
    amounts = figures(tiny, prices=prices).amounts

    assert amounts
    edge = amounts.lines[-1]
    assert (edge.quantity, edge.amount) == (Decimal("0.005"), Decimal("0.05"))  # 0.0045 m; 0.005 × 9 = 0.045
    assert (amounts.net, amounts.vat) == (Decimal("0.05"), Decimal("0.03"))  # 0.05 × 0.5 = 0.025


@pytest.mark.parametrize(
    ("changes", "solution", "missing"),
    [
        ({"boardPerM2": {"MDF-18-BYZ": 450}}, SOLUTION, "The rules have no price for boardPerM2 HDF-5."),
        ({"edgePerMetre": {"1mm": 12}}, SOLUTION, "The rules have no price for edgePerMetre 040."),
        ({"wastePercent": None}, None, "The rules have no wastePercent."),
        ({}, SOLUTION | {"boards_m2": None}, "The solution has no boards_m2."),
        ({}, SOLUTION | {"cuts": None}, "The solution has no cuts."),
    ],
)
def test_what_is_missing_is_named_and_there_is_no_total(changes: Any, solution: Any, missing: str) -> None:
    amounts = figures(*PARTS, solution=solution, prices=PRICES | changes).amounts

    assert amounts is not None
    assert [each.message for each in amounts.missing] == [missing]
    assert (amounts.net, amounts.vat, amounts.gross) == (None, None, None)


def test_a_price_of_a_thickness_goes_before_that_of_the_material() -> None:
    thin = PARTS[0] | {"id": "thin", "thickness_mm": 8}
    priced = PRICES | {"boardPerM2": {"MDF-18-BYZ": 450, "MDF-18-BYZ 8mm": 200, "* 5mm": 90, "*": 1}}
    found = figures(*PARTS, thin, solution=SOLUTION, prices=priced).amounts

    assert found
    assert [str(line.unit_price) for line in found.lines if line.kind == "boards"] == ["450", "90", "200"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"currency": "tl"}, "prices.currency: Expected a currency of three capital letters, such as TRY."),
        ({"vatPercent": 101}, "prices.vatPercent: Expected a number from 0 to 100 with at most 4 decimals."),
        ({"boardPerM2": {"MDF": -1}}, "prices.boardPerM2.MDF: Expected a price from 0 to 1,000,000 with at most 4"),
        ({"perCut": "1.5"}, "prices.perCut: Expected a price from 0 to 1,000,000 with at most 4 decimals."),
        ({"edgePerMetre": {"1 mm": 12}}, "prices: edgePerMetre has 1 mm. Expected names of edgeMapping: 040, 1mm, 2mm"),
        ({"perPiece": 3}, "prices.perPiece: Unknown field. Known fields: currency, vatPercent, boardPerM2,"),
    ],
)
def test_prices_that_cannot_be_meant_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRules) as refused:
        rules_with(prices=PRICES | changes)

    assert refused.value.lines[0].partition(": ")[2].startswith(message)


SIZES = st.decimals(min_value="0.001", max_value=500, places=4)
AMOUNTS = st.decimals(min_value=0, max_value=1_000_000, places=4)
ANY_PARTS = st.lists(
    st.fixed_dictionaries(
        {
            "part_type": st.sampled_from(["GOVDE", "ARKALIK"]),
            "material_code": st.sampled_from(["MDF", "HDF", "PLY"]),
            "length_cm": SIZES,
            "width_cm": SIZES,
            "quantity": st.integers(1, 9_999),
            "thickness_mm": st.sampled_from([3, 8, 18]),
            "edge_up": st.sampled_from([None, "Bant Yok", "040", "1mm"]),
            "edge_dx": st.sampled_from([None, "2mm"]),
        }
    ),
    min_size=1,
    max_size=6,
)
ANY_SOLUTION = st.none() | st.fixed_dictionaries(
    {"boards_m2": AMOUNTS.map(str), "time_s": AMOUNTS.map(str), "cuts": st.integers(0, 100_000)},
    optional={"boards_by_material": st.fixed_dictionaries(dict.fromkeys(["MDF", "HDF", "PLY"], AMOUNTS.map(str)))},
)


@given(parts=ANY_PARTS, solution=ANY_SOLUTION, board=AMOUNTS, edge=AMOUNTS, vat=st.integers(0, 100))
def test_lines_add_up_and_nothing_is_negative(parts: Any, solution: Any, board: Any, edge: Any, vat: int) -> None:
    named = [{"id": f"p{number}", "grain": 0, "color": "Beyaz", **part} for number, part in enumerate(parts)]
    prices = PRICES | {"boardPerM2": {"*": float(board)}, "edgePerMetre": {"*": float(edge)}, "vatPercent": vat}
    found = figures(*named, solution=solution, prices=prices)

    amounts = found.amounts
    assert amounts is not None
    assert not amounts.missing
    assert amounts.net == sum(line.amount or 0 for line in amounts.lines)
    assert amounts.gross == amounts.net + amounts.vat  # type: ignore[operator]
    assert amounts.vat == (amounts.net * vat / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)  # type: ignore[operator]
    assert all(min(line.quantity, line.amount or 0, line.unit_price or 0) >= 0 for line in amounts.lines)
    for line in amounts.lines:
        assert line.unit_price is not None
        assert line.amount == (line.quantity * line.unit_price).quantize(Decimal("0.01"), ROUND_HALF_UP)
    if solution:
        assert sum(each.boards_m2 or 0 for each in found.materials) == found.boards_m2
    assert found.parts_m2 == sum(each.area_m2 for each in found.materials)
