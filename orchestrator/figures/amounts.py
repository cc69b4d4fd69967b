"""What a job costs by the prices of the rules.

Each line is its quantity, rounded to a thousandth, times its price, rounded half up to a hundredth. Net is the sum of
the lines, VAT is rounded once, on the net. While one price is missing there is no total: it would be too low.
"""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from orchestrator.figures.measures import material_name, rounded
from orchestrator.schemas.figures import (
    AmountLine,
    Amounts,
    Basis,
    LineKind,
    MaterialArea,
    Measures,
    MissingAmount,
    Unit,
)
from orchestrator.schemas.orders import plain
from orchestrator.schemas.prices import Prices

CENT = Decimal("0.01")
NO_WASTE = MissingAmount("prices", "wastePercent", "", "The rules have no wastePercent.")


def price(measures: Measures, prices: Prices, *, basis: Basis) -> Amounts:
    lines: list[AmountLine] = []
    missing: list[MissingAmount] = []
    for found in [*_boards(measures, prices, basis), *_edges(measures, prices), *_saw(measures, prices, basis)]:
        (lines if isinstance(found, AmountLine) else missing).append(found)  # type: ignore[arg-type]
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


def _boards(measures: Measures, prices: Prices, basis: Basis) -> Iterator[AmountLine | MissingAmount]:
    if basis == "estimate" and prices.waste_percent is None:
        yield NO_WASTE
    elif basis == "solution" and measures.boards_m2 is None:
        yield no_figure("boards_m2")
    else:
        for material in measures.materials:
            found = prices.of_board(material.material_code, plain(material.thickness_mm))
            yield line("boards", material_name(material), _board_area(material, prices), "m²", found)
            if found is None:
                yield no_price("boardPerM2", material.material_code)


def _board_area(material: MaterialArea, prices: Prices) -> Decimal:
    if material.boards_m2 is not None:
        return material.boards_m2
    return rounded(material.area_m2 * (100 + (prices.waste_percent or 0)) / 100)


def _edges(measures: Measures, prices: Prices) -> Iterator[AmountLine | MissingAmount]:
    for each in measures.edges:
        found = prices.of_edge(each.edge)
        yield line("edge", each.edge, each.metres, "m", found)
        if found is None:
            yield no_price("edgePerMetre", each.edge)


def _saw(measures: Measures, prices: Prices, basis: Basis) -> Iterator[AmountLine | MissingAmount]:
    if basis == "estimate":
        return
    if prices.per_cut is not None:
        if measures.cuts is None:
            yield no_figure("cuts")
        else:
            yield line("cuts", "", Decimal(measures.cuts), "pcs", prices.per_cut)
    if prices.per_machine_minute is not None:
        if measures.machine_minutes is None:
            yield no_figure("time_s")
        else:
            yield line("machine", "", measures.machine_minutes, "min", prices.per_machine_minute)


def line(kind: LineKind, name: str, quantity: Decimal, unit: Unit, unit_price: Decimal | None) -> AmountLine:
    amount = (quantity * unit_price).quantize(CENT, ROUND_HALF_UP) if unit_price is not None else None
    return AmountLine(kind, name, quantity, unit, unit_price, amount)


def no_price(section: str, entry: str) -> MissingAmount:
    return MissingAmount("prices", section, entry, f"The rules have no price for {section} {entry}.")


def no_figure(name: str) -> MissingAmount:
    return MissingAmount("solution", name, "", f"The solution has no {name}.")
