"""The factory's rules and prices, as rules.json has them."""

import re
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal

from django.utils.translation import gettext_noop
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo, field_validator

from kilit.api.input_model import Expected, InputModel, invalid
from orchestrator.schemas.orders import (
    CENTS,
    EDGES,
    OptiMode,
    Order,
    Part,
    PlateSize,
    Text32,
    Text64,
    Text100,
    Text200,
    Text400,
    plain,
)

ANY = "*"  # stands for each material or edge that has no price of its own
DECIMALS = 4
A_DAY_OF_MINUTES = 24 * 60
MOST_SAWS = 20


def exact(value: object) -> Any:
    return Decimal(value) if type(value) is int else value


def without_exponent(value: Decimal) -> Decimal:
    return Decimal(plain(abs(value)))  # -0.0 is 0


Price = Annotated[
    Decimal,
    Field(ge=0, le=1_000_000, decimal_places=DECIMALS),
    BeforeValidator(exact),
    AfterValidator(without_exponent),
    Expected(f"a price from 0 to 1,000,000 with at most {DECIMALS} decimals"),
]
Percent = Annotated[
    Decimal,
    Field(ge=0, le=100, decimal_places=DECIMALS),
    BeforeValidator(exact),
    AfterValidator(without_exponent),
    Expected(f"a number from 0 to 100 with at most {DECIMALS} decimals"),
]


class Prices(InputModel):
    """Prices without VAT. Each material and each edge needs one; cuts and minutes without one are not charged."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$"), Expected("a currency of three capital letters, such as TRY")]
    vat_percent: Annotated[Percent, Field(alias="vatPercent")]
    board_per_m2: Annotated[dict[str, Price], Field(alias="boardPerM2", default_factory=dict)]
    edge_per_metre: Annotated[dict[str, Price], Field(alias="edgePerMetre", default_factory=dict)]
    per_cut: Annotated[Price | None, Field(alias="perCut")] = None
    per_machine_minute: Annotated[Price | None, Field(alias="perMachineMinute")] = None
    # An offer is made before OptiPlanning knows the boards: it adds this to the area of the parts.
    waste_percent: Annotated[Percent | None, Field(alias="wastePercent")] = None

    def of_board(self, material_code: str, thickness: str) -> Decimal | None:
        """Return the price of a material: the one for this thickness, if there is one."""
        names = (f"{material_code} {thickness}mm", material_code, f"{ANY} {thickness}mm", ANY)
        return next((self.board_per_m2[name] for name in names if name in self.board_per_m2), None)

    def of_edge(self, edge: str) -> Decimal | None:
        return self.edge_per_metre.get(edge, self.edge_per_metre.get(ANY))


def read_minutes(value: Any) -> timedelta:
    if type(value) in (int, Decimal) and 0 < value <= A_DAY_OF_MINUTES:
        return timedelta(minutes=float(value))
    raise invalid(f"Expected minutes above 0, up to {A_DAY_OF_MINUTES:,}.")


def read_thickness(key: str, info: ValidationInfo[dict[str, set[Decimal]]]) -> Decimal:
    """Return a name as a number; `18` and `18.0` are the same."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})?", key, re.ASCII):
        raise invalid("Expected a thickness in millimetres.")
    earlier: set[Decimal] = info.context["thicknesses"]  # read_rules gives it
    if (thickness := Decimal(key)) in earlier:
        raise invalid(f"{key} appears twice.")
    earlier.add(thickness)
    return thickness


def check_merging(policy: dict[str, object]) -> dict[str, Any]:
    if policy.get("defaultDisabled") is not True:
        raise invalid("Parts are never merged, so defaultDisabled must be true.")
    return policy


Positive = Annotated[
    Decimal, Field(gt=0, le=10_000), BeforeValidator(exact), Expected("a number above 0, up to 10,000")
]
NotNegative = Annotated[
    Decimal,
    Field(ge=0, le=10_000),
    BeforeValidator(exact),
    AfterValidator(abs),  # -0.0 is 0
    Expected("a number from 0 to 10,000"),
]
Minutes = Annotated[timedelta, PlainValidator(read_minutes)]
Thickness = Annotated[Decimal, PlainValidator(read_thickness)]
Grain = Annotated[int, Field(ge=0, le=3), Expected("a whole number from 0 to 3")]
GrainKey = Annotated[str, Field(pattern="^[0-3]$"), Expected("a grain from 0 to 3")]


class DefaultPlateSize(PlateSize):
    width_mm: Positive
    height_mm: Positive


class Saw(InputModel):
    """One of several saws. A size that is left out is no limit; its folder is set where it is (KILIT_SAWS)."""

    name: Text64
    longest_mm: Annotated[Positive | None, Field(alias="longestMm")] = None
    widest_mm: Annotated[Positive | None, Field(alias="widestMm")] = None
    thickest_mm: Annotated[Positive | None, Field(alias="thickestMm")] = None
    # The codes of what the rules give it; people may choose it for others.
    materials: list[Text64] = []
    by_hand: Annotated[bool, Field(alias="byHand")] = False

    @property
    def limits(self) -> tuple[Decimal | None, ...]:
        return self.longest_mm, self.widest_mm, self.thickest_mm


class Timeouts(InputModel):
    opti_xml: Annotated[Minutes, Field(alias="optiXmlMinutes")]  # how long OptiPlanning may take
    osi_ack: Annotated[Minutes, Field(alias="osiAckMinutes")]  # how long the saw may take


class Cutting(InputModel):
    """How the built-in optimiser plans. The times say how long a saw takes."""

    kerf_mm: Annotated[
        Decimal, Field(alias="kerfMm", ge=0, le=20), BeforeValidator(exact), Expected("a number from 0 to 20")
    ] = Decimal(4)
    # Rips along the plate, cross cuts of the strips, recuts of the pieces.
    stages: Annotated[int, Field(ge=2, le=3), Expected("2 or 3")] = 3
    seconds_per_board: Annotated[NotNegative, Field(alias="secondsPerBoard")] = Decimal(60)
    seconds_per_cut: Annotated[NotNegative, Field(alias="secondsPerCut")] = Decimal(10)


class StockRules(InputModel):
    """There is a store. What a plan leaves is an offcut if it has this size at least; anything smaller is waste."""

    least_offcut_length_mm: Annotated[Positive, Field(alias="leastOffcutLengthMm")] = Decimal(600)
    least_offcut_width_mm: Annotated[Positive, Field(alias="leastOffcutWidthMm")] = Decimal(200)

    def keeps(self, length_mm: Decimal, width_mm: Decimal) -> bool:
        sides = sorted((length_mm, width_mm))
        least = sorted((self.least_offcut_length_mm, self.least_offcut_width_mm))
        return sides[0] >= least[0] and sides[1] >= least[1]


class Company(InputModel):
    """The seller on offers."""

    name: Text200
    address: Text400
    tax_office: Annotated[Text100 | None, Field(alias="taxOffice")] = None
    tax_number: Annotated[Text32 | None, Field(alias="taxNumber")] = None
    phone: Text32 | None = None
    email: Text100 | None = None
    offer_valid_days: Annotated[int, Field(alias="offerValidDays", ge=1, le=365), Expected("days from 1 to 365")] = 15


class Rules(InputModel):
    most_errors = 20  # the message is shown in one line

    cm_to_mm_multiplier: Positive
    trim_by_thickness: Annotated[dict[Thickness, NotNegative], Field(alias="trimByThickness", min_length=1)]
    backing_thicknesses: Annotated[frozenset[Positive], Field(alias="backingThicknesses", min_length=1, strict=False)]
    # Mode D deducts the bands of finished sizes; OptiPlanning gets the bands in columns of their own.
    sizes_are: Annotated[Literal["cut", "finished"], Field(alias="sizesAre")] = "cut"
    edge_mapping: Annotated[dict[str, Positive | None], Field(alias="edgeMapping", min_length=1)]
    grain_mapping: Annotated[dict[GrainKey, Grain], Field(alias="grainMapping", min_length=1)]
    default_plate_size: Annotated[DefaultPlateSize | None, Field(alias="defaultPlateSize")] = None
    retry_count_max: Annotated[int, Field(ge=0, le=100), Expected("a whole number from 0 to 100")]
    retry_backoff: Annotated[list[Minutes], Field(alias="retry_backoff_minutes", min_length=1)]
    opti_mode_default: Annotated[OptiMode, Field(alias="optiModeDefault")]
    timeouts: Timeouts
    # "hand": no saw takes files; people cut the boards, and say so.
    cut_by: Annotated[Literal["saw", "hand"], Field(alias="cutBy")] = "saw"
    # The first that fits takes a job. Without any there is one saw, or people cut, as cutBy says.
    saws: Annotated[list[Saw], Field(max_length=MOST_SAWS)] = []
    ack_mode: Annotated[Literal["file_move"], Field(alias="ackMode")] = "file_move"
    merge_policy: Annotated[
        dict[str, Any], AfterValidator(check_merging), Field(alias="mergePolicy", default_factory=dict)
    ]
    xml_expected: Literal["job", "batch"] = "job"
    cutting: Cutting = Cutting.model_construct()
    stock: StockRules | None = None
    # "page": the QR code of a label opens a page on which people say what they have done to its piece, without a login.
    label_code: Annotated[Literal["number", "page"], Field(alias="labelCode")] = "number"
    prices: Prices | None = None
    company: Company | None = None

    def plate_of(self, order: Order) -> PlateSize | None:
        return order.plate_size or self.default_plate_size

    @property
    def has_cutting_by_hand(self) -> bool:
        return self.cut_by == "hand" or any(saw.by_hand for saw in self.saws)

    def millimetres(self, centimetres: Decimal) -> Decimal:
        """Return millimetres rounded half up to the hundredth; the trim is printed, never added."""
        return (centimetres * self.cm_to_mm_multiplier).quantize(CENTS, ROUND_HALF_UP)

    def cut_size(self, part: Part) -> tuple[Decimal, Decimal]:
        """Return length and width to cut in mode D: of a finished size its bands are deducted."""
        length, width = self.millimetres(part.length_cm), self.millimetres(part.width_cm)
        if self.sizes_are == "cut" or part.is_backing:
            return length, width
        bands = {side: self.edge_mapping.get(name) or Decimal(0) for side, name in part.edges.items()}
        up, lo, sx, dx = (bands.get(side, Decimal(0)) for side in EDGES)
        return length - sx - dx, width - up - lo

    @field_validator("retry_backoff")
    @classmethod
    def has_each_retry(cls, backoff: list[timedelta], info: ValidationInfo) -> list[timedelta]:
        if len(backoff) < info.data.get("retry_count_max", 0):
            raise invalid("Needs a time for each of retry_count_max retries.")
        return backoff

    @field_validator("saws")
    @classmethod
    def are_different(cls, saws: list[Saw], info: ValidationInfo) -> list[Saw]:
        if len({saw.name.casefold() for saw in saws}) < len(saws):
            raise invalid(gettext_noop("Each saw needs a name of its own."))
        if saws and info.data.get("cut_by") == "hand":
            raise invalid(gettext_noop("With a list of saws, each says whether people feed it: leave cutBy out."))
        return saws

    @field_validator("prices")
    @classmethod
    def has_known_edges(cls, prices: Prices | None, info: ValidationInfo) -> Prices | None:
        edges = [name for name, mm in info.data.get("edge_mapping", {}).items() if mm is not None]
        if edges and prices and (unknown := [name for name in prices.edge_per_metre if name not in (*edges, ANY)]):
            raise invalid(f"edgePerMetre has {', '.join(unknown)}. Expected names of edgeMapping: {', '.join(edges)}.")
        return prices
