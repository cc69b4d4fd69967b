"""The factory's rules, as rules.json has them."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo, field_validator

from kilit.api.input_model import Expected, InputModel, invalid
from orchestrator.schemas.orders import OptiMode, PlateSize, Text32, Text100, Text200, clean
from orchestrator.schemas.prices import ANY, Prices, exact

A_DAY_OF_MINUTES = 24 * 60


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


class Timeouts(InputModel):
    opti_xml: Annotated[Minutes, Field(alias="optiXmlMinutes")]  # how long OptiPlanning may take
    osi_ack: Annotated[Minutes, Field(alias="osiAckMinutes")]  # how long the saw may take


class Company(InputModel):
    """The seller on offers."""

    name: Text200
    address: Annotated[str, Field(min_length=1, max_length=400), BeforeValidator(clean)]
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
    edge_mapping: Annotated[dict[str, Positive | None], Field(alias="edgeMapping", min_length=1)]
    grain_mapping: Annotated[dict[GrainKey, Grain], Field(alias="grainMapping", min_length=1)]
    default_plate_size: Annotated[DefaultPlateSize | None, Field(alias="defaultPlateSize")] = None
    retry_count_max: Annotated[int, Field(ge=0, le=100), Expected("a whole number from 0 to 100")]
    retry_backoff: Annotated[list[Minutes], Field(alias="retry_backoff_minutes", min_length=1)]
    opti_mode_default: Annotated[OptiMode, Field(alias="optiModeDefault")]
    timeouts: Timeouts
    ack_mode: Annotated[Literal["file_move"], Field(alias="ackMode")] = "file_move"
    merge_policy: Annotated[
        dict[str, Any], AfterValidator(check_merging), Field(alias="mergePolicy", default_factory=dict)
    ]
    xml_expected: Literal["job", "batch"] = "job"
    prices: Prices | None = None
    company: Company | None = None

    @field_validator("retry_backoff")
    @classmethod
    def has_each_retry(cls, backoff: list[timedelta], info: ValidationInfo) -> list[timedelta]:
        if len(backoff) < info.data.get("retry_count_max", 0):
            raise invalid("Needs a time for each of retry_count_max retries.")
        return backoff

    @field_validator("prices")
    @classmethod
    def has_known_edges(cls, prices: Prices | None, info: ValidationInfo) -> Prices | None:
        known = [name for name, mm in info.data.get("edge_mapping", {}).items() if mm is not None]
        if known and prices and (unknown := [name for name in prices.edge_per_metre if name not in (*known, ANY)]):
            raise invalid(f"edgePerMetre has {', '.join(unknown)}. Expected names of edgeMapping: {', '.join(known)}.")
        return prices
