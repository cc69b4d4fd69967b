"""Finds the parts of an order that its plate is too small for.

New orders with such parts are refused. The rules may change later, so a job is looked at again when it is prepared, and
then such parts are only flagged.
"""

from decimal import Decimal

from kilit.api.input_model import FieldError
from orchestrator.errors import WarningCode
from orchestrator.schemas.orders import InvalidOrder, Order, OrderMessage, Part, PlateSize, plain
from orchestrator.schemas.rules import Rules

MOST_NAMED = 100
LEAST_SIDE = Decimal("0.05")  # millimetres, which are rounded to tenths
ALONG_LENGTH, ALONG_WIDTH = 1, 2  # where the grain runs; other parts may be turned
NO_WARNING: dict[str, object] = {"warning_code": "", "warning_details": None}


def refuse_oversized(order: Order, rules: Rules) -> None:
    """Raise InvalidOrder if parts are nothing but edge bands, or larger than the plate, if its size is known."""
    for number, part in enumerate(order.parts):
        if min(rules.cut_size(part)) < LEAST_SIDE:
            message = f"Part {part.id} is not larger than its edge bands."
            raise InvalidOrder([{"field": f"parts.{number}", "message": message}], 1)
    plate = rules.plate_of(order)
    if plate is None:
        return
    too_large = [(number, part) for number, part in enumerate(order.parts) if not fits(part, plate, rules)]
    if too_large:
        errors = [_fault(number, part, plate, rules) for number, part in too_large[: OrderMessage.most_errors]]
        raise InvalidOrder(errors, len(too_large))


def _fault(number: int, part: Part, plate: PlateSize, rules: Rules) -> FieldError:
    size = " × ".join(map(plain, rules.cut_size(part)))
    trim = plain(_trim(part, rules))
    reason = ", because its grain does not allow it to be turned" if any(_ways(part, plate, rules)) else ""
    message = f"Part {part.id}, {size} mm, is larger than the plate of {plate} less {trim} mm of trim{reason}."
    return {"field": f"parts.{number}", "message": message}


def fit_warning(order: Order, rules: Rules) -> dict[str, object]:
    """Return the columns of a job that say which parts are too large; without a plate size nothing is known."""
    plate = rules.plate_of(order)
    names = [part.id for part in order.parts if not fits(part, plate, rules)] if plate else []
    if not plate or not names:
        return NO_WARNING
    details = {"plate": str(plate), "parts": names[:MOST_NAMED], "beyond": max(0, len(names) - MOST_NAMED)}
    return {"warning_code": WarningCode.PART_EXCEEDS_PLATE, "warning_details": details}


def fits(part: Part, plate: PlateSize, rules: Rules) -> bool:
    """Return whether a plate, less the trim, is large enough; the grain of a plate runs along its longer side."""
    lengthwise, crosswise = _ways(part, plate, rules)
    grain = rules.grain_mapping.get(str(part.grain), 0)
    if grain == ALONG_LENGTH:
        return lengthwise
    return crosswise if grain == ALONG_WIDTH else lengthwise or crosswise


def _ways(part: Part, plate: PlateSize, rules: Rules) -> tuple[bool, bool]:
    trim = _trim(part, rules)
    short, long = (side - trim for side in sorted((plate.width_mm, plate.height_mm)))
    length, width = rules.cut_size(part)
    return length <= long and width <= short, width <= long and length <= short


def _trim(part: Part, rules: Rules) -> Decimal:
    return rules.trim_by_thickness.get(part.thickness_mm, Decimal(0))
