"""What a job needs and what it costs, as the API returns it and as it is stored with finished jobs."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

LineKind = Literal["boards", "edge", "cuts", "machine"]
Unit = Literal["m²", "m", "pcs", "min"]
# By the solution's boards; or before there is one by the area of the parts and `wastePercent`, without what only a
# solution knows: cuts and machine time; or by the built-in optimiser's plan of an order that was not sent yet.
Basis = Literal["solution", "estimate", "plan"]


def board_name(material: str, thickness: str) -> str:
    """Return what boards are priced by; a file of OptiPlanning has no thickness."""
    return f"{material} {thickness} mm" if thickness else material


@dataclass(frozen=True)
class MaterialArea:
    """The parts of one material and thickness."""

    material_code: str
    thickness_mm: Decimal
    pieces: int
    area_m2: Decimal
    boards_m2: Decimal | None = None  # this material's share of the boards that are charged


@dataclass(frozen=True)
class EdgeLength:
    """One kind of edge band, by its name in the rules."""

    edge: str
    metres: Decimal


@dataclass(frozen=True)
class AmountLine:
    """What is charged; without a price it has no amount."""

    kind: LineKind
    name: str  # the material with its thickness, or the edge
    quantity: Decimal
    unit: Unit
    unit_price: Decimal | None
    amount: Decimal | None


@dataclass(frozen=True)
class MissingAmount:
    """What keeps the amounts from a total: an entry of `prices`, a figure that the solution lacks, or a wrong sum."""

    source: Literal["prices", "solution", "law"]
    section: str  # as rules.json or `solution` calls it
    entry: str
    message: str


@dataclass(frozen=True)
class Amounts:
    """Without VAT, except `vat` and `gross`. While something is missing there are no totals: they would be too low."""

    currency: str
    basis: Basis
    waste_percent: Decimal | None  # of an estimate
    lines: tuple[AmountLine, ...]
    missing: tuple[MissingAmount, ...]
    vat_percent: Decimal
    net: Decimal | None
    vat: Decimal | None
    gross: Decimal | None


@dataclass(frozen=True)
class Charged:
    """The plan that the amounts are by, if another is cut: it takes nothing from the store."""

    boards_m2: Decimal | None
    cuts: int | None
    machine_minutes: Decimal | None


@dataclass(frozen=True)
class JobFigures:
    """Fixed amounts were stored when the job was finished; others are by the prices in force."""

    # Quantities are rounded half up to a thousandth, each before it is added to others.
    pieces: int
    parts_m2: Decimal
    materials: tuple[MaterialArea, ...]
    edges: tuple[EdgeLength, ...]
    # From the solution; None without one, or if it does not say.
    boards_m2: Decimal | None = None
    drops_m2: Decimal | None = None
    yield_percent: Decimal | None = None  # how much of the boards becomes parts
    cuts: int | None = None
    machine_minutes: Decimal | None = None
    charged: Charged | None = None  # None: the plan that is cut
    is_fixed: bool = False
    amounts: Amounts | None = None  # None without prices in the rules
