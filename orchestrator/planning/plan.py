"""The cutting plan: what is cut from which plate."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from orchestrator.schemas.orders import EDGES, Part, PlateSize
from orchestrator.schemas.rules import Rules

CENTS = Decimal("0.01")


@dataclass(frozen=True)
class Row:
    """One line of a sheet, in the order of the template's tags."""

    material_code: str
    length_mm: Decimal
    width_mm: Decimal
    quantity: int
    grain: int
    idesc: str
    edge_up: Decimal | None
    edge_lo: Decimal | None
    edge_sx: Decimal | None
    edge_dx: Decimal | None
    iidesc: str | None
    desc1: str | None


@dataclass(frozen=True)
class Batch:
    """The rows of one file: one part type, one colour, one thickness."""

    part_type: str
    color: str
    thickness_mm: Decimal
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Plan:
    plate: PlateSize
    batches: tuple[Batch, ...]
    reset_parts: tuple[str, ...]  # ids of backing parts with edges removed
    warning: Mapping[str, object]  # columns of the job: which parts are larger than the plate


def banded_sides(part: Part, rules: Rules) -> dict[str, str]:
    """Return the sides that get a band, and its name. A backing gets no band, even if one was ordered."""
    if part.part_type == "ARKALIK":
        return {}
    named = {side: getattr(part, side) for side in EDGES}
    # A name that the rules do not know (any more) is a band, too.
    return {side: name for side, name in named.items() if name and rules.edge_mapping.get(name, name) is not None}


def millimetres(centimetres: Decimal, rules: Rules) -> Decimal:
    """Return millimetres rounded half up to the hundredth; the trim is printed, never added."""
    return (centimetres * rules.cm_to_mm_multiplier).quantize(CENTS, ROUND_HALF_UP)
