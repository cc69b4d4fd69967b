"""The cutting plan: what is cut from which plate."""

from dataclasses import dataclass
from decimal import Decimal

from orchestrator.schemas.orders import PlateSize


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
