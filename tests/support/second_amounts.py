"""Amounts computed a second time, from a plan and a price list as JSON. It shares no code with the product.

A plan is what `POST /jobs/estimate` returns as `patterns`, an order its body, prices are `prices` of the rules.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Json = Mapping[str, Any]
SIDES = {"edge_up": "length_cm", "edge_lo": "length_cm", "edge_sx": "width_cm", "edge_dx": "width_cm"}


def to(step: str, value: Decimal) -> Decimal:
    return value.quantize(Decimal(step), ROUND_HALF_UP)


def text_of(value: object) -> str:
    return f"{Decimal(str(value)).normalize():f}"


def price_of(prices: Json, code: str, thickness: str) -> Decimal:
    table = prices["boardPerM2"]
    for name in (f"{code} {thickness}mm", code, f"* {thickness}mm", "*"):
        if name in table:
            return Decimal(str(table[name]))
    raise AssertionError(f"no price for {code} {thickness}")


def board_areas(patterns: Iterable[Json], parts: Iterable[Json]) -> dict[tuple[str, str], Decimal]:
    """Return the square metres of whole boards of each material and thickness, in the order of the parts."""
    areas = {(part["material_code"], text_of(part["thickness_mm"])): Decimal(0) for part in parts}
    for pattern in patterns:
        area = Decimal(str(pattern["length"])) * Decimal(str(pattern["width"])) * pattern["boards"] / 1_000_000
        areas[pattern["material_code"], text_of(pattern["thickness_mm"])] += area
    return areas


def band_metres(parts: Iterable[Json]) -> dict[str, Decimal]:
    metres: dict[str, Decimal] = {}
    for part in parts:
        for side, along in SIDES.items():
            name = part.get(side)
            if name and name != "Bant Yok" and part["part_type"] == "GOVDE":
                length = to("0.01", Decimal(str(part[along])) * 10) * part["quantity"] / 1000
                metres[name] = metres.get(name, Decimal(0)) + length
    return dict(sorted(metres.items()))


def amounts(order: Json, patterns: Iterable[Json], prices: Json, *, cuts: int, minutes: Decimal) -> dict[str, Decimal]:
    """Return what an order costs, to the last kuruş."""
    lines, before = [], Decimal(0)
    for (code, thickness), area in board_areas(patterns, order["parts"]).items():
        quantity = to("0.001", before + area) - to("0.001", before)  # the sums are rounded, so they add up
        before += area
        lines.append(to("0.01", quantity * price_of(prices, code, thickness)))
    for name, metres in band_metres(order["parts"]).items():
        price = prices["edgePerMetre"].get(name, prices["edgePerMetre"].get("*"))
        lines.append(to("0.01", to("0.001", metres) * Decimal(str(price))))
    if prices.get("perCut") is not None:
        lines.append(to("0.01", cuts * Decimal(str(prices["perCut"]))))
    if prices.get("perMachineMinute") is not None:
        lines.append(to("0.01", to("0.001", minutes) * Decimal(str(prices["perMachineMinute"]))))
    net = sum(lines, Decimal(0))
    vat = to("0.01", net * Decimal(str(prices["vatPercent"])) / 100)
    return {"net": net, "vat": vat, "gross": net + vat}
