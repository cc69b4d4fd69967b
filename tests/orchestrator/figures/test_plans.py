"""What an order costs by its cutting plan, against a second computation that shares no code with the product."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.api.estimates import present_estimate
from orchestrator.cutting.estimates import Estimate, estimate
from orchestrator.orders.order import read_order
from orchestrator.planning.fitting import refuse_oversized
from orchestrator.schemas.orders import InvalidOrder
from tests.support import second_amounts
from tests.support.cutting_jobs import error, order_body
from tests.support.cutting_rules import rules_with

PRICES = {"currency": "TRY", "vatPercent": 20, "boardPerM2": {"MDFLAM 18mm": 450, "MDFLAM 5mm": 120}}
PANEL = {"part_type": "GOVDE", "material_code": "MDFLAM", "color": "Beyaz", "grain": 0}


@pytest.fixture(autouse=True)
def no_kept_plans(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("django.conf.settings.KILIT_VAR", tmp_path)


def planned(*parts: dict[str, Any], **rules: Any) -> Estimate:
    order = read_order(order_body(opti_mode="D", parts=list(parts)), default_mode="D")
    return estimate(order, rules_with(**{"prices": PRICES, **rules}))


def panels(name: str, number: int, length: float, width: float, thickness: float, **more: Any) -> dict[str, Any]:
    sizes = {"length_cm": length / 10, "width_cm": width / 10, "thickness_mm": thickness}
    return {**PANEL, "id": name, "quantity": number, **sizes, **more}


@pytest.mark.parametrize(
    ("parts", "boards", "net"),
    [
        # One board of 18 mm and two of 5 mm: 5.88 × 450 + 11.76 × 120.
        ([panels("a", 2, 600, 400, 18), panels("b", 4, 2000, 900, 5)], ["5.880", "11.760"], "4057.20"),
        # Two boards of 18 mm and one of 5 mm: 11.76 × 450 + 5.88 × 120.
        ([panels("a", 4, 2000, 900, 18), panels("b", 2, 600, 400, 5)], ["11.760", "5.880"], "5997.60"),
    ],
)
def test_boards_of_one_material_in_several_thicknesses_cost_what_each_thickness_costs(parts, boards, net) -> None:
    figures = planned(*parts).figures

    assert [str(material.boards_m2) for material in figures.materials] == boards
    assert figures.amounts
    assert figures.amounts.net == Decimal(net)


ANY_PARTS = st.lists(
    st.fixed_dictionaries(
        {
            "part_type": st.sampled_from(["GOVDE", "GOVDE", "ARKALIK"]),
            "material_code": st.sampled_from(["MDFLAM", "HDF"]),
            "color": st.sampled_from(["Beyaz", "Antrasit"]),
            "length_cm": st.decimals("0.5", 200, places=2),
            "width_cm": st.decimals("0.5", 100, places=2),
            "quantity": st.integers(1, 6),
            "thickness_mm": st.sampled_from([3, 5, 8]),
            "grain": st.sampled_from([0, 1]),
            "edge_up": st.sampled_from([None, "Bant Yok", "040", "1mm"]),
            "edge_lo": st.sampled_from([None, "1mm"]),
            "edge_sx": st.sampled_from([None, "2mm"]),
        }
    ),
    min_size=1,
    max_size=8,
)
ANY_PRICE = st.decimals(0, 2_000, places=4)
ANY_PRICES = st.fixed_dictionaries(
    {
        "boardPerM2": st.fixed_dictionaries(
            {"*": ANY_PRICE}, optional=dict.fromkeys(("MDFLAM", "MDFLAM 5mm", "HDF 3mm", "* 8mm"), ANY_PRICE)
        ),
        "edgePerMetre": st.fixed_dictionaries({"*": ANY_PRICE}, optional={"1mm": ANY_PRICE}),
        "vatPercent": st.decimals(0, 100, places=2),
    },
    optional={"perCut": ANY_PRICE, "perMachineMinute": ANY_PRICE},
)


@given(parts=ANY_PARTS, prices=ANY_PRICES)
def test_what_an_order_costs_is_what_a_second_computation_gives(parts: Any, prices: Any) -> None:
    body = order_body(opti_mode="D", parts=[{"id": f"p{number}", **part} for number, part in enumerate(parts)])
    prices = {"currency": "TRY", **json.loads(json.dumps(prices, default=float))}

    found = estimate(read_order(body, default_mode="D"), rules_with(prices=prices))

    answer = present_estimate(found)
    minutes = seconds_of(answer) / 60
    expected = second_amounts.amounts(body, answer["patterns"], prices, cuts=cuts_of(found), minutes=minutes)
    assert found.figures.amounts
    assert {name: getattr(found.figures.amounts, name) for name in ("net", "vat", "gross")} == expected


def cuts_of(found: Estimate) -> int:
    cuts = found.figures.cuts
    assert cuts is not None
    return cuts


def seconds_of(answer: Any) -> Decimal:
    """A minute for each board and ten seconds for each cut, as the shipped rules say."""
    boards = sum(pattern["boards"] for pattern in answer["patterns"])
    return Decimal(60 * boards + 10 * answer["figures"]["cuts"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("part", "code"), [({"thickness_mm": 16}, "E_TRIM_RULE_MISSING"), ({"edge_up": "9mm"}, "E_EDGE_MAPPING_UNKNOWN")]
)
def test_an_order_that_would_be_held_or_fail_has_no_estimate(api, part: dict[str, Any], code: str) -> None:
    refused = api.post("jobs/estimate", order_body(opti_mode="D", parts=[panels("a", 1, 600, 400, 18) | part]))

    assert (refused.status_code, error(refused)["code"]) == (409, code)


BANDS = {"edge_up": "1mm", "edge_lo": "2mm", "edge_sx": "040", "edge_dx": "1mm"}


@pytest.mark.parametrize(
    ("rules", "part", "sides"),
    [
        ({}, BANDS, [720, 560.5]),
        # 720 - 0.4 - 1 along the length, 560.5 - 1 - 2 across it.
        ({"sizesAre": "finished"}, BANDS, [718.6, 557.5]),
        ({"sizesAre": "finished"}, {**BANDS, "grain": 2}, [557.5, 718.6]),
        ({"sizesAre": "finished"}, {"edge_dx": "Bant Yok"}, [720, 560.5]),
        ({"sizesAre": "finished"}, {**BANDS, "part_type": "ARKALIK", "thickness_mm": 5}, [720, 560.5]),
    ],
)
def test_bands_are_deducted_from_finished_sizes_and_from_no_others(rules, part, sides) -> None:
    found = planned(panels("a", 1, 720, 560.5, 18, grain=1) | part, **rules)

    (pattern,) = found.plan.patterns
    assert [(placed.length, placed.width) for placed in pattern.parts] == [tuple(sides)]
    assert found.figures.parts_m2 == Decimal("0.404"), "amounts are by the ordered size"


def test_a_part_as_large_as_the_plate_with_its_bands_fits() -> None:
    part = panels("a", 1, 2791, 2090, 18, grain=1, edge_sx="1mm")
    refuse = "larger than the plate"

    with pytest.raises(InvalidOrder, match=refuse):
        refuse_oversized(read_order(order_body(parts=[part]), default_mode="D"), rules_with())

    refuse_oversized(read_order(order_body(parts=[part]), default_mode="D"), rules_with(sizesAre="finished"))
    assert planned(part, sizesAre="finished").boards == 1


def test_a_finished_part_that_is_nothing_but_its_bands_is_refused() -> None:
    part = panels("a", 1, 3, 600, 18, edge_sx="2mm", edge_dx="2mm")

    with pytest.raises(InvalidOrder, match="Part a is not larger than its edge bands"):
        refuse_oversized(read_order(order_body(parts=[part]), default_mode="D"), rules_with(sizesAre="finished"))
