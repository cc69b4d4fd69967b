"""Finds the parts of an order that its plate is too small for. They are flagged, not refused: the plate may change."""

from decimal import Decimal
from typing import Any

from orchestrator.errors import WarningCode
from orchestrator.planning.plan import millimetres
from orchestrator.schemas.orders import Order, Part, PlateSize, plain
from orchestrator.schemas.rules import Rules

MOST_NAMED = 100
ALONG_LENGTH, ALONG_WIDTH = 1, 2  # where the grain runs; other parts may be turned
NO_WARNING: dict[str, Any] = {"warning_code": "", "warning_details": None}


def fit_warning(order: Order, rules: Rules) -> dict[str, Any]:
    """Return the columns of a job that say which parts are too large; without a plate size nothing is known."""
    plate = order.plate_size or rules.default_plate_size
    names = [part.id for part in order.parts if not fits(part, plate, rules)] if plate else []
    if not plate or not names:
        return NO_WARNING
    size = f"{plain(plate.width_mm)} × {plain(plate.height_mm)} mm"
    details = {"plate": size, "parts": names[:MOST_NAMED], "beyond": max(0, len(names) - MOST_NAMED)}
    return {"warning_code": WarningCode.PART_EXCEEDS_PLATE, "warning_details": details}


def fits(part: Part, plate: PlateSize, rules: Rules) -> bool:
    """Return whether a plate, less the trim, is large enough; the grain of a plate runs along its longer side."""
    trim = rules.trim_by_thickness.get(part.thickness_mm, Decimal(0))
    short, long = (side - trim for side in sorted((plate.width_mm, plate.height_mm)))
    length, width = millimetres(part.length_cm, rules), millimetres(part.width_cm, rules)
    grain = rules.grain_mapping.get(str(part.grain), 0)
    lengthwise = length <= long and width <= short
    crosswise = width <= long and length <= short
    if grain == ALONG_LENGTH:
        return lengthwise
    return crosswise if grain == ALONG_WIDTH else lengthwise or crosswise
