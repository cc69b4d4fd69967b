"""From centimetres and names to what the saw cuts."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code, JobError
from orchestrator.orders.order import canonical, order_from, payload_hash, read_order
from orchestrator.planning.plan import Plan, Row, transform
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.rules import Rules
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body
from tests.support.cutting_rules import rules_with


def plan_of(*parts: dict[str, Any], rules: Rules | None = None, **changes: Any) -> Plan:
    order = read_order(order_body(parts=list(parts), **changes), default_mode="C")
    return transform(order, rules or current_rules())


def fault_of(*parts: dict[str, Any], rules: Rules | None = None, **changes: Any) -> JobError:
    with pytest.raises(JobError) as fault:
        plan_of(*parts, rules=rules, **changes)
    return fault.value


def row_of(part: dict[str, Any]) -> Row:
    return plan_of(part).batches[0].rows[0]


@pytest.mark.parametrize(
    ("centimetres", "expected"),
    [
        ("100.0005", "1000.01"),
        ("120.5", "1205.00"),
        ("45.675", "456.75"),
        ("12.3456", "123.46"),
        ("1.0005", "10.01"),
        ("73.0255", "730.26"),
        ("0.0015", "0.02"),
        ("0.0014999", "0.01"),
        ("500", "5000.00"),
    ],
)
def test_millimetres_round_halves_up_at_two_places(centimetres: str, expected: str) -> None:
    assert str(current_rules().millimetres(Decimal(centimetres))) == expected
    # As JSON brings it: the number next to 1.0005 in binary lies below it, and still ten point oh one comes out.
    assert str(row_of({**GOVDE, "length_cm": float(centimetres)}).length_mm) == expected


def test_the_example_row_is_as_in_the_facts() -> None:
    row = row_of(GOVDE)

    assert row == Row(
        material_code="MAT-01",
        length_mm=Decimal(1205),
        width_mm=Decimal(400),
        quantity=2,
        grain=1,
        idesc="GOVDE_g1_TRIM_10.00",
        edge_up=Decimal(1),
        edge_lo=Decimal(1),
        edge_sx=Decimal("0.4"),
        edge_dx=None,
        iidesc=None,
        desc1=None,
    )


@pytest.mark.parametrize(("thickness", "trim"), [(18, "10.00"), (18.0, "10.00"), (3, "5.00"), (4, "5.00"), (8, "5.00")])
def test_trim_goes_by_the_value_of_the_thickness(thickness: float, trim: str) -> None:
    row = row_of({**GOVDE, "thickness_mm": thickness})

    assert row.idesc == f"GOVDE_g1_TRIM_{trim}"
    assert (row.length_mm, row.width_mm) == (1205, 400)


def test_a_body_of_16_has_no_trim_rule() -> None:
    fault = fault_of(GOVDE, {**GOVDE, "id": "g2", "thickness_mm": 16})

    assert fault.code == Code.TRIM_RULE_MISSING
    assert fault.message == "Part g2: no trim rule for 16 mm in trimByThickness."


@pytest.mark.parametrize("thickness", [18, 16, 6, 3.5])
def test_a_backing_must_be_thin_which_is_asked_before_trim(thickness: float) -> None:
    fault = fault_of({**ARKALIK, "thickness_mm": thickness})

    assert fault.code == Code.BACKING_THICKNESS_UNKNOWN
    assert "Part a1: " in fault.message
    assert "3, 4, 5, 8 mm" in fault.message


def test_a_backing_without_a_trim_rule_is_reported() -> None:
    rules = rules_with(trimByThickness={"18": 10})

    assert fault_of(ARKALIK, rules=rules).code == Code.TRIM_RULE_MISSING


@pytest.mark.parametrize(
    ("name", "edge"), [("Bant Yok", None), ("040", Decimal("0.4")), ("1mm", 1), ("2mm", 2), (None, None)]
)
def test_edges_by_their_names(name: str | None, edge: Any) -> None:
    row = row_of({**GOVDE, "edge_up": name, "edge_lo": name, "edge_sx": name, "edge_dx": name})

    assert (row.edge_up, row.edge_lo, row.edge_sx, row.edge_dx) == (edge, edge, edge, edge)


def test_an_unknown_edge_names_its_part_and_side() -> None:
    fault = fault_of({**GOVDE, "edge_sx": "3mm"})

    assert fault.code == Code.EDGE_MAPPING_UNKNOWN
    assert fault.message == "Part g1: edge_sx '3mm' is not one of Bant Yok, 040, 1mm, 2mm."


def test_edges_of_backings_are_emptied_unchecked_and_counted_once_each() -> None:
    plan = plan_of(
        GOVDE,
        {**ARKALIK, "id": "a1", "edge_up": "2mm", "edge_lo": "2mm"},
        {**ARKALIK, "id": "a2", "edge_up": "nobody knows this"},
        {**ARKALIK, "id": "a3", "edge_up": None},
        {**ARKALIK, "id": "a4", "edge_up": "Bant Yok"},
    )

    backings = plan.batches[1].rows
    assert {getattr(row, f"edge_{side}") for row in backings for side in ("up", "lo", "sx", "dx")} == {None}
    assert plan.reset_parts == ("a1", "a2")
    assert len(plan.reset_parts) == 2


def test_a_grain_that_the_rules_leave_out_is_a_fault() -> None:
    fault = fault_of({**GOVDE, "grain": 3}, rules=rules_with(grainMapping={"0": 0, "1": 1}))

    assert (fault.code, fault.message) == (Code.INVALID_GRAIN, "Part g1: grain 3 is not in grainMapping.")


def test_the_plate_is_the_orders_else_the_rules() -> None:
    assert dict(plan_of(GOVDE).plate) == {"width_mm": 2100, "height_mm": 2800}
    named = plan_of(GOVDE, plate_size={"width_mm": 1830, "height_mm": 3660})
    assert dict(named.plate) == {"width_mm": 1830, "height_mm": 3660}
    assert fault_of(GOVDE, rules=rules_with(defaultPlateSize=None)).code == Code.PLATE_SIZE_MISSING


def test_gates_are_asked_in_order(tmp_path: Path) -> None:
    bad_part = {**GOVDE, "thickness_mm": 16, "edge_up": "3mm"}
    order = read_order(order_body(parts=[bad_part]), default_mode="C")
    no_plate, no_trim = rules_with(defaultPlateSize=None), current_rules()
    no_template = tmp_path / "none.xlsx"

    def code(rules: Rules, template: Path | None) -> str:
        with pytest.raises(JobError) as fault:
            transform(order, rules, template=template)
        return fault.value.code

    assert code(no_plate, no_template) == Code.PLATE_SIZE_MISSING
    assert code(no_trim, no_template) == Code.TEMPLATE_INVALID
    assert code(no_trim, None) == Code.TRIM_RULE_MISSING
    assert code(rules_with(trimByThickness={"16": 1}), None) == Code.EDGE_MAPPING_UNKNOWN
    assert code(rules_with(trimByThickness={"16": 1}, grainMapping={"0": 0}), None) == Code.INVALID_GRAIN


def test_the_first_error_in_the_order_of_the_parts_is_reported() -> None:
    fault = fault_of(GOVDE, {**GOVDE, "id": "late", "edge_up": "3mm"}, {**ARKALIK, "id": "later", "thickness_mm": 18})

    assert fault.message.startswith("Part late:")


def test_batches_by_type_colour_and_thickness_first_appearance_first_nothing_merged() -> None:
    def part(number: int, part_type: str, color: str, thickness: float) -> dict[str, Any]:
        base = GOVDE if part_type == "GOVDE" else ARKALIK
        return {**base, "id": str(number), "color": color, "thickness_mm": thickness}

    plan = plan_of(
        part(1, "GOVDE", "Beyaz", 18),
        part(2, "ARKALIK", "Beyaz", 5),
        part(3, "GOVDE", "Ceviz", 18),
        part(4, "GOVDE", "Beyaz", 18.0),
        part(5, "GOVDE", "Beyaz", 8),
        part(6, "GOVDE", "beyaz", 18),
    )

    assert [(b.part_type, b.color, b.thickness_mm, len(b.rows)) for b in plan.batches] == [
        ("GOVDE", "Beyaz", 18, 2),
        ("ARKALIK", "Beyaz", 5, 1),
        ("GOVDE", "Ceviz", 18, 1),
        ("GOVDE", "Beyaz", 8, 1),
        ("GOVDE", "beyaz", 18, 1),
    ]


@pytest.mark.parametrize(
    "sent", [{"delik_kodu": "D35"}, {"iidesc": "D35"}, {"iidesc": "D35", "delik_kodu": " D35 "}], ids=str
)
def test_the_drill_code_has_two_names_and_one_column(sent: dict[str, str]) -> None:
    assert row_of({**GOVDE, **sent}).iidesc == "D35"


def test_a_stored_order_with_two_drill_codes_keeps_the_one_that_its_sheets_have() -> None:
    stored = canonical(read_order(order_body(parts=[{**GOVDE, "iidesc": "D35"}]), default_mode="C"))
    stored["parts"][0]["delik_kodu"] = "D5"

    (batch,) = transform(order_from(stored), current_rules()).batches

    assert batch.rows[0].iidesc == "D35"


def test_a_drill_code_does_not_change_which_order_it_is() -> None:
    order = read_order(order_body(parts=[{**GOVDE, "delik_kodu": "D35"}]), default_mode="C")

    # As it was before the drill code was written to the sheet: a client that sends it again gets the same job.
    assert payload_hash(canonical(order)) == "9c1d262a147da02c666b4274a15dd6d030714aee6923fd7427424a40b57e660d"
