"""The figures of a job: stored when it is finished, computed by the rules in force before that.

Each line of the amounts is its quantity, rounded to a thousandth, times its price, rounded half up to a hundredth. Net
is the sum of the lines, VAT is rounded once, on the net. While one price is missing there is no total: it would be too
low.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import accumulate
from typing import Any

from pydantic import TypeAdapter

from orchestrator.figures.amounts_law import lawful
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.plan import banded_sides
from orchestrator.planning.rules import valid_rules
from orchestrator.schemas.figures import (
    AmountLine,
    Amounts,
    Basis,
    Charged,
    EdgeLength,
    JobFigures,
    LineKind,
    MaterialArea,
    MissingAmount,
    Unit,
    board_name,
)
from orchestrator.schemas.orders import Order, plain
from orchestrator.schemas.rules import Prices, Rules

THOUSANDTH, TENTH = Decimal("0.001"), Decimal("0.1")
MM2_PER_M2, MM_PER_METRE, SECONDS_PER_MINUTE = 1_000_000, 1_000, 60
# The sides that run along a part's length; the others run along its width.
ALONG_LENGTH = ("edge_up", "edge_lo")
CENT = Decimal("0.01")
NO_WASTE = MissingAmount("prices", "wastePercent", "", "The rules have no wastePercent.")
STORED = TypeAdapter(JobFigures)


def measure(order: Order, rules: Rules, solution: Mapping[str, Any] | None = None) -> JobFigures:
    """Measure an order by the sizes and edges that its sheets have, and by the figures of its solution."""
    pieces: dict[tuple[str, Decimal], int] = defaultdict(int)
    areas: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    edges: dict[str, Decimal] = defaultdict(Decimal)
    for part in order.parts:
        material = part.material_code, part.thickness_mm
        length, width = rules.millimetres(part.length_cm), rules.millimetres(part.width_cm)
        pieces[material] += part.quantity
        areas[material] += length * width * part.quantity
        for side, edge in banded_sides(part, rules).items():
            edges[edge] += (length if side in ALONG_LENGTH else width) * part.quantity
    rows = [MaterialArea(*material, pieces[material], rounded(area / MM2_PER_M2)) for material, area in areas.items()]
    solved = _of_solution(solution or {}, sum((row.area_m2 for row in rows), Decimal(0)))
    charged = (solution or {}).get("charged")
    return JobFigures(
        pieces=sum(pieces.values()),
        materials=tuple(_with_boards(rows, charged or solution or {})),
        edges=tuple(EdgeLength(edge, rounded(side / MM_PER_METRE)) for edge, side in sorted(edges.items())),
        **solved,
        charged=_charged(charged) if charged else None,
    )


def _with_boards(materials: list[MaterialArea], solution: Mapping[str, Any]) -> Iterator[MaterialArea]:
    """Share the solution's boards among the materials.

    By the boards of each material and thickness, if the solution has them for all. A solution of OptiPlanning does not
    say how thick its boards are: among the thicknesses of a material they are shared by the area of the parts. The
    running sums are rounded, so the shares add up to the whole and none is negative.
    """
    boards = Decimal(solution["boards_m2"]) if solution.get("boards_m2") is not None else None
    boards_by_name = solution.get("boards_by_material") or {}
    names = [next((name for name in _names(material) if boards_by_name.get(name)), "") for material in materials]
    areas = [max(material.area_m2, THOUSANDTH) for material in materials]  # also a tiny part needs its board
    weights = areas
    if all(names):
        area_by_name: dict[str, Decimal] = defaultdict(Decimal)
        for name, area in zip(names, areas, strict=True):
            area_by_name[name] += area
        pairs = zip(names, areas, strict=True)
        weights = [Decimal(boards_by_name[name]) * area / area_by_name[name] for name, area in pairs]
    *sums, total = accumulate(weights, initial=Decimal(0))
    for material, begin, end in zip(materials, sums, [*sums[1:], total], strict=True):
        share = rounded(boards * end / total) - rounded(boards * begin / total) if boards is not None else None
        yield replace(material, boards_m2=share)


def _names(material: MaterialArea) -> tuple[str, str]:
    return material_name(material), material.material_code


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


def _charged(solution: Mapping[str, Any]) -> Charged:
    figures = _of_solution(solution, Decimal(0))
    return Charged(*(figures[name] for name in ("boards_m2", "cuts", "machine_minutes")))


def _amount(solution: Mapping[str, Any], name: str) -> Decimal | None:
    return rounded(Decimal(solution[name])) if solution.get(name) is not None else None


def rounded(quantity: Decimal) -> Decimal:
    return quantity.quantize(THOUSANDTH, ROUND_HALF_UP)


def material_name(material: MaterialArea) -> str:
    return board_name(material.material_code, plain(material.thickness_mm))


def price(figures: JobFigures, prices: Prices, *, basis: Basis) -> Amounts:
    lines: list[AmountLine] = []
    missing: list[MissingAmount] = []
    for item in [*_boards(figures, prices, basis), *_edges(figures, prices), *_saw(figures, prices, basis)]:
        (lines if isinstance(item, AmountLine) else missing).append(item)  # type: ignore[arg-type]
    net = vat = None
    if not missing:
        net = sum((line.amount for line in lines if line.amount is not None), Decimal(0)).quantize(CENT)
        vat = (net * prices.vat_percent / 100).quantize(CENT, ROUND_HALF_UP)
    return Amounts(
        prices.currency,
        basis,
        prices.waste_percent if basis == "estimate" else None,
        tuple(lines),
        tuple(missing),
        prices.vat_percent,
        net,
        vat,
        net + vat if net is not None and vat is not None else None,
    )


def _boards(figures: JobFigures, prices: Prices, basis: Basis) -> Iterator[AmountLine | MissingAmount]:
    if basis == "estimate" and prices.waste_percent is None:
        yield NO_WASTE
    elif basis != "estimate" and figures.boards_m2 is None:
        yield no_figure("boards_m2")
    else:
        for material in figures.materials:
            unit_price = prices.of_board(material.material_code, plain(material.thickness_mm))
            yield line("boards", material_name(material), _board_area(material, prices), "m²", unit_price)
            if unit_price is None:
                yield no_price("boardPerM2", material.material_code)


def _board_area(material: MaterialArea, prices: Prices) -> Decimal:
    if material.boards_m2 is not None:
        return material.boards_m2
    return rounded(material.area_m2 * (100 + (prices.waste_percent or 0)) / 100)


def _edges(figures: JobFigures, prices: Prices) -> Iterator[AmountLine | MissingAmount]:
    for edge in figures.edges:
        unit_price = prices.of_edge(edge.edge)
        yield line("edge", edge.edge, edge.metres, "m", unit_price)
        if unit_price is None:
            yield no_price("edgePerMetre", edge.edge)


def _saw(figures: JobFigures, prices: Prices, basis: Basis) -> Iterator[AmountLine | MissingAmount]:
    if basis == "estimate":
        return
    plan = figures.charged or figures
    if prices.per_cut is not None:
        if plan.cuts is None:
            yield no_figure("cuts")
        else:
            yield line("cuts", "", Decimal(plan.cuts), "pcs", prices.per_cut)
    if prices.per_machine_minute is not None:
        if plan.machine_minutes is None:
            yield no_figure("time_s")
        else:
            yield line("machine", "", plan.machine_minutes, "min", prices.per_machine_minute)


def line(kind: LineKind, name: str, quantity: Decimal, unit: Unit, unit_price: Decimal | None) -> AmountLine:
    amount = (quantity * unit_price).quantize(CENT, ROUND_HALF_UP) if unit_price is not None else None
    return AmountLine(kind, name, quantity, unit, unit_price, amount)


def no_price(section: str, entry: str) -> MissingAmount:
    return MissingAmount("prices", section, entry, f"The rules have no price for {section} {entry}.")


def no_figure(name: str) -> MissingAmount:
    return MissingAmount("solution", name, "", f"The solution has no {name}.")


def compute(
    order: Order, rules: Rules, solution: Mapping[str, Any] | None = None, *, basis: Basis = "solution"
) -> JobFigures:
    """Return the figures by these rules; without a solution the amounts are an estimate."""
    figures = measure(order, rules, solution)
    return _priced(figures, rules, basis="estimate" if solution is None else basis, solution=solution)


def _priced(figures: JobFigures, rules: Rules, *, basis: Basis, solution: Mapping[str, Any] | None) -> JobFigures:
    if rules.prices is None:
        return replace(figures, amounts=None)
    amounts = price(figures, rules.prices, basis=basis)
    return replace(figures, amounts=lawful(figures, amounts, boards_charged(solution or {})))


def boards_charged(solution: Mapping[str, Any]) -> Mapping[str, str]:
    return (solution.get("charged") or solution).get("boards_by_material") or {}


def figures_of(job: Job) -> JobFigures | None:
    """Return a job's figures, or None while there are no valid rules to compute them by.

    A stored total stays. If no total could be stored, because a price was missing, the rules in force are used.
    """
    stored = STORED.validate_python(job.figures) if job.figures is not None else None
    if stored and stored.amounts and stored.amounts.net is not None:
        return replace(stored, is_fixed=True)
    rules = valid_rules()
    if rules is None:
        return stored
    if stored:
        # What was charged of a job cut in part is a share of its plan, which has other areas.
        return _priced(stored, rules, basis="solution", solution=None if job.is_cut_in_part else job.solution)
    return compute(order_from(job.payload), rules, (job.solution or {}) if job.xml_sha256 else None)


def figures_json(job: Job) -> dict[str, Any] | None:
    figures = figures_of(job)
    return STORED.dump_python(figures, mode="json") if figures else None
