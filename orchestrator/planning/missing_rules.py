"""Which entries the rules lack for an order: all of them, where a job's error names only the first."""

from dataclasses import dataclass

from orchestrator.schemas.orders import EDGES, Order, Part, plain
from orchestrator.schemas.rules import Rules


@dataclass(frozen=True)
class MissingRule:
    section: str  # as rules.json calls it
    entry: str = ""  # a thickness, an edge or a grain; empty for the default plate


def missing_rules(order: Order, rules: Rules) -> list[MissingRule]:
    missing = [] if order.plate_size or rules.default_plate_size else [MissingRule("defaultPlateSize")]
    for part in order.parts:
        missing += _missing_for(part, rules)
    return list(dict.fromkeys(missing))


def _missing_for(part: Part, rules: Rules) -> list[MissingRule]:
    thickness, is_backing = plain(part.thickness_mm), part.part_type == "ARKALIK"
    missing = []
    if is_backing and part.thickness_mm not in rules.backing_thicknesses:
        missing.append(MissingRule("backingThicknesses", thickness))
    if part.thickness_mm not in rules.trim_by_thickness:
        missing.append(MissingRule("trimByThickness", thickness))
    if str(part.grain) not in rules.grain_mapping:
        missing.append(MissingRule("grainMapping", str(part.grain)))
    if not is_backing:  # its edges are removed
        edges = [name for name in (getattr(part, side) for side in EDGES) if name is not None]
        missing += [MissingRule("edgeMapping", name) for name in edges if name not in rules.edge_mapping]
    return missing
