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
from tests.support import second_amounts
from tests.support.cutting_jobs import order_body
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
