"""Turns an order into cutting problems: one for each material, colour and thickness."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from orchestrator import sentences
from orchestrator.cutting.problem import CuttingOrder, CuttingProblem, Piece, Plate, Trim
from orchestrator.errors import Code, JobError
from orchestrator.planning.fitting import ALONG_LENGTH, ALONG_WIDTH
from orchestrator.schemas.orders import MOST_PIECES, Order, Part, PlateSize
from orchestrator.schemas.rules import Rules

TENTHS = 10  # of a millimetre
Material = tuple[str, str, Decimal]  # code, colour, thickness
Stock = Mapping[Material, Sequence[Plate]]


def cutting_order(order: Order, rules: Rules, stock: Stock | None = None) -> CuttingOrder:
    """Return the problems of an order, with the plates that are in stock beside the order's own plate.

    JobError without a plate size, or with more pieces than can be planned.
    """
    plate = rules.plate_of(order)
    if plate is None:
        raise JobError(Code.PLATE_SIZE_MISSING, sentences.NO_PLATE)
    if (pieces := sum(part.quantity for part in order.parts)) > MOST_PIECES:
        raise JobError(Code.VALIDATION, sentences.TOO_MANY_PIECES % {"pieces": pieces, "most": MOST_PIECES})
    parts: dict[Material, list[Part]] = {}
    for part in order.parts:
        parts.setdefault((part.material_code, part.color, part.thickness_mm), []).append(part)
    return CuttingOrder(
        tuple(
            CuttingProblem(
                *material,
                pieces=tuple(_piece(part, rules) for part in same),
                plates=(*(stock or {}).get(material, ()), whole_plate(plate, rules, material[2])),
                kerf=tenths(rules.cutting.kerf_mm),
                stages=rules.cutting.stages,
            )
            for material, same in parts.items()
        )
    )


def tenths(millimetres: Decimal) -> int:
    return int((millimetres * TENTHS).quantize(Decimal(1), ROUND_HALF_UP))


def whole_plate(size: PlateSize, rules: Rules, thickness: Decimal) -> Plate:
    """Return the plate, its grain along its longer side. A trim is cut off one edge in each direction."""
    width, length = sorted((size.width_mm, size.height_mm))
    trim = rules.trim_by_thickness.get(thickness, Decimal(0))
    # What is usable is rounded as parts are, so that a part of that size fits.
    left, bottom = (tenths(side) - tenths(side - trim) for side in (length, width))
    sides = tenths(length), tenths(width)
    return Plate(*sides, cost=plate_cost(*sides), trim=Trim(left, bottom))


def plate_cost(length: int, width: int) -> int:
    """Return what a whole plate costs, in square centimetres."""
    return max(1, length * width // (TENTHS * TENTHS * 100))


def _piece(part: Part, rules: Rules) -> Piece:
    length, width = map(tenths, rules.cut_size(part))
    grain = rules.grain_mapping.get(str(part.grain), 0)
    if grain == ALONG_WIDTH:
        length, width = width, length
    return Piece(part.id, max(1, length), max(1, width), part.quantity, grain not in (ALONG_LENGTH, ALONG_WIDTH))
