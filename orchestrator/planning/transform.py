"""Turns an order into OptiPlanning's rows: millimetres, trim, edges, batches."""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from orchestrator.errors import Code, JobError
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.fitting import fit_warning
from orchestrator.planning.plan import CENTS, Batch, Plan, Row, millimetres
from orchestrator.schemas.orders import EDGES, Order, Part, plain
from orchestrator.schemas.rules import Rules


def transform(order: Order, rules: Rules, *, template: Path | None = None) -> Plan:
    """Check the plate size, the template and each part, in this order, and return the rows in batches.

    The first error is raised and names its part. Nothing is merged: two equal parts are two rows.
    """
    plate = order.plate_size or rules.default_plate_size
    if plate is None:
        raise JobError(Code.PLATE_SIZE_MISSING, "The order has no plate size, and the rules have no defaultPlateSize.")
    if template is not None:
        check_template(template)
    rows: dict[tuple[str, str, Decimal], list[Row]] = defaultdict(list)
    reset = []
    for part in order.parts:
        row, was_reset = transform_part(part, rules)
        rows[part.part_type, part.color, part.thickness_mm].append(row)
        if was_reset:
            reset.append(part.id)
    batches = tuple(Batch(*key, rows=tuple(batch_rows)) for key, batch_rows in rows.items())
    return Plan(plate, batches, tuple(reset), fit_warning(order, rules))


def transform_part(part: Part, rules: Rules) -> tuple[Row, bool]:
    thickness = plain(part.thickness_mm)
    backing = part.part_type == "ARKALIK"
    if backing and part.thickness_mm not in rules.backing_thicknesses:
        thicknesses = ", ".join(map(plain, sorted(rules.backing_thicknesses)))
        raise _part_error(
            Code.BACKING_THICKNESS_UNKNOWN, part, f"a backing of {thickness} mm is not one of {thicknesses} mm."
        )
    trim = rules.trim_by_thickness.get(part.thickness_mm)
    if trim is None:
        raise _part_error(Code.TRIM_RULE_MISSING, part, f"no trim rule for {thickness} mm in trimByThickness.")
    grain = rules.grain_mapping.get(str(part.grain))
    if grain is None:
        raise _part_error(Code.INVALID_GRAIN, part, f"grain {part.grain} is not in grainMapping.")
    named = {side: getattr(part, side) for side in EDGES}
    # A backing never has edges, so an unknown edge in its order does no harm.
    edges = {side: None if backing else _edge(part, rules, side, name) for side, name in named.items()}
    had_edges = any(name is not None and rules.edge_mapping.get(name, name) is not None for name in named.values())
    row = Row(
        material_code=part.material_code,
        length_mm=millimetres(part.length_cm, rules),
        width_mm=millimetres(part.width_cm, rules),
        quantity=part.quantity,
        grain=grain,
        idesc=f"{part.part_type}_{part.id}_TRIM_{trim.quantize(CENTS, ROUND_HALF_UP)}",
        **edges,
        iidesc=part.drill_code,
        desc1=part.desc1,
    )
    return row, backing and had_edges


def _edge(part: Part, rules: Rules, side: str, name: str | None) -> Decimal | None:
    if name is None:
        return None
    if name not in rules.edge_mapping:
        names = ", ".join(rules.edge_mapping)
        raise _part_error(Code.EDGE_MAPPING_UNKNOWN, part, f"{side} {name!r} is not one of {names}.")
    return rules.edge_mapping[name]


def _part_error(code: Code, part: Part, message: str) -> JobError:
    return JobError(code, f"Part {part.id}: {message}")
