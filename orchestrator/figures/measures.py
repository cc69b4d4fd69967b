"""What an order needs and what its solution uses: pieces, areas, edge band, boards, cuts, minutes; never a float."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import accumulate
from typing import Any

from orchestrator.planning.plan import banded_sides, millimetres
from orchestrator.schemas.figures import EdgeLength, MaterialArea, Measures
from orchestrator.schemas.orders import Order, plain
from orchestrator.schemas.rules import Rules

THOUSANDTH, TENTH = Decimal("0.001"), Decimal("0.1")
MM2_PER_M2, MM_PER_METRE, SECONDS_PER_MINUTE = 1_000_000, 1_000, 60
# The sides that run along a part's length; the others run along its width.
ALONG_LENGTH = ("edge_up", "edge_lo")


def measure(order: Order, rules: Rules, solution: Mapping[str, Any] | None = None) -> Measures:
    """Measure an order by the sizes and edges that its sheets have, and by the figures of its solution."""
    pieces: dict[tuple[str, Decimal], int] = defaultdict(int)
    areas: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    edges: dict[str, Decimal] = defaultdict(Decimal)
    for part in order.parts:
        material = part.material_code, part.thickness_mm
        length, width = millimetres(part.length_cm, rules), millimetres(part.width_cm, rules)
        pieces[material] += part.quantity
        areas[material] += length * width * part.quantity
        for side, edge in banded_sides(part, rules).items():
            edges[edge] += (length if side in ALONG_LENGTH else width) * part.quantity
    found = [MaterialArea(*material, pieces[material], rounded(area / MM2_PER_M2)) for material, area in areas.items()]
    solved = _of_solution(solution or {}, sum((each.area_m2 for each in found), Decimal(0)))
    return Measures(
        pieces=sum(pieces.values()),
        materials=tuple(_with_boards(found, solved["boards_m2"], (solution or {}).get("boards_by_material") or {})),
        edges=tuple(EdgeLength(edge, rounded(side / MM_PER_METRE)) for edge, side in sorted(edges.items())),
        **solved,
    )


def _with_boards(
    materials: list[MaterialArea], boards_m2: Decimal | None, by_material: Mapping[str, str]
) -> Iterator[MaterialArea]:
    """Share the solution's boards among the materials.

    By the boards of each material, if the solution has them for all; else, and among the thicknesses of a material, by
    the area of the parts. The running sums are rounded, so the shares add up to the whole and none is negative.
    """
    areas: dict[str, Decimal] = defaultdict(Decimal)
    for each in materials:
        areas[each.material_code] += each.area_m2
    is_known = all(by_material.get(code) and area for code, area in areas.items())
    per_m2 = {code: Decimal(by_material[code]) / area if is_known else Decimal(1) for code, area in areas.items()}
    weights = [each.area_m2 * per_m2[each.material_code] for each in materials]
    *sums, total = accumulate(weights if any(weights) else [Decimal(1)] * len(weights), initial=Decimal(0))
    for each, begin, end in zip(materials, sums, [*sums[1:], total], strict=True):
        share = rounded(boards_m2 * end / total) - rounded(boards_m2 * begin / total) if boards_m2 is not None else None
        yield replace(each, boards_m2=share)


def _of_solution(solution: Mapping[str, object], parts_m2: Decimal) -> dict[str, Any]:
    boards, drops, seconds = (_amount(solution, name) for name in ("boards_m2", "drops_m2", "time_s"))
    return {
        "parts_m2": parts_m2,
        "boards_m2": boards,
        "drops_m2": drops,
        "yield_percent": (parts_m2 * 100 / boards).quantize(TENTH, ROUND_HALF_UP) if boards else None,
        "cuts": solution.get("cuts"),
        "machine_minutes": rounded(seconds / SECONDS_PER_MINUTE) if seconds is not None else None,
    }


def _amount(solution: Mapping[str, Any], name: str) -> Decimal | None:
    return rounded(Decimal(solution[name])) if solution.get(name) is not None else None


def rounded(quantity: Decimal) -> Decimal:
    return quantity.quantize(THOUSANDTH, ROUND_HALF_UP)


def material_name(material: MaterialArea) -> str:
    return f"{material.material_code} {plain(material.thickness_mm)} mm"
