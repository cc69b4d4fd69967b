"""Orders and customers as clients send them; lengths, sizes and phone numbers are cleaned as they are read."""

import re
import unicodedata
from contextlib import suppress
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal

from django.utils.translation import gettext_noop
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    field_validator,
)

from kilit.api.input_model import EARLIEST, LATEST, FieldError, InputModel, InvalidInput, ShownAs, invalid
from kilit.lock.priorities import PriorityName
from kilit.lock.text import CONTROL_CHARS
from orchestrator.schemas.tax_numbers import read_tax_number

EDGES = ("edge_up", "edge_lo", "edge_sx", "edge_dx")
MOST_PARTS = 5_000
MOST_PIECES = 20_000  # that the built-in optimiser plans
LARGEST_MM = 5_000
DIGITS = 28  # the precision of decimal arithmetic
REGION = "TR"
CENTS = Decimal("0.01")

# Stricter than elsewhere, because these texts become file names, cells of XLSX and lines in a terminal: also line
# separators, directional overrides and further code points that are not characters.
UNSAFE_CHARS = re.compile(CONTROL_CHARS.pattern[:-1] + r"\x80-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef]")
DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})|([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", re.ASCII)
PHONE = re.compile(r"[0-9+()./ -]{5,32}")


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character: spaces, joiners and marks alone are not."""
    categories = map(unicodedata.category, text)
    return any(category != "Cf" and category[0] not in "ZM" for category in categories)


def clean(value: object) -> Any:
    if not isinstance(value, str):
        return value
    if UNSAFE_CHARS.search(value):
        raise invalid(gettext_noop("Control characters and broken Unicode are not allowed."))
    text = unicodedata.normalize("NFC", value).strip()
    if not is_visible(text):
        raise invalid(gettext_noop("This may not be empty."))
    return text


def whole_number(least: int, most: int) -> PlainValidator:
    """Read a whole number; 2.0 is the same as 2, booleans and strings are not numbers."""

    def read(value: Any) -> int:
        if type(value) in (int, float, Decimal) and least <= value <= most and value == int(value):
            return int(value)
        raise invalid(f"Expected a whole number from {least} to {most:,}.")

    return PlainValidator(read, json_schema_input_type=Annotated[int, Field(ge=least, le=most)])


def size(unit: str, *, mm_per_unit: int) -> PlainValidator:
    """Read a size that can be cut: from a hundredth of a millimetre to five metres."""
    most = LARGEST_MM // mm_per_unit

    def read(value: Any) -> Decimal:
        if type(value) not in (int, float, Decimal) or not 0 < value <= most:
            raise invalid(f"Expected a size above 0, up to {most:,} {unit}.")
        exact = Decimal(str(value))  # of a float as well: 0.1 means a tenth, not the nearest binary fraction
        if len(exact.as_tuple().digits) > DIGITS:
            raise invalid(f"At most {DIGITS} digits.")
        if (exact * mm_per_unit).quantize(CENTS, ROUND_HALF_UP) == 0:
            raise invalid("Smaller than a hundredth of a millimetre.")
        return exact

    return PlainValidator(read, json_schema_input_type=Annotated[float, Field(gt=0, le=most)])


def phone(number: str) -> str:
    """Return a phone number in E.164 format; `0555 123 45 67` and `00905551234567` are the same."""
    import phonenumbers

    with suppress(phonenumbers.NumberParseException):
        parsed = phonenumbers.parse(number, REGION)
        if PHONE.fullmatch(number) and phonenumbers.is_valid_number(parsed):
            return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    raise invalid(gettext_noop("Not a valid phone number. Examples: 0555 123 45 67, +90 555 123 45 67."))


def day(value: object) -> date:
    """Read a day; people write 30.11.2026."""
    text = value.isoformat() if type(value) is date else value
    if isinstance(text, str) and (match := DAY.fullmatch(text.strip())):
        year, month, number = match.groups()[:3] if match[1] else match.groups()[:2:-1]
        with suppress(ValueError):
            read = date(int(year), int(month), int(number))
            if EARLIEST.date() <= read < LATEST.date():
                return read
    raise invalid(gettext_noop("Expected a day, as in 2026-11-30."))


def plain(value: Decimal) -> str:
    """Return a number without exponent or trailing zeros: 18, not 18.0 or 1.8E+1."""
    return format(value.normalize(), "f")


Text32 = Annotated[str, Field(min_length=1, max_length=32), BeforeValidator(clean)]
Text64 = Annotated[str, Field(min_length=1, max_length=64), BeforeValidator(clean)]
Text100 = Annotated[str, Field(min_length=1, max_length=100), BeforeValidator(clean)]
Text200 = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(clean)]
Text400 = Annotated[str, Field(min_length=1, max_length=400), BeforeValidator(clean)]
Phone = Annotated[
    str,
    Field(min_length=1, max_length=40, description="In any format.", examples=["0555 123 45 67"]),
    BeforeValidator(clean),
    AfterValidator(phone),
]
Millimetres = Annotated[Decimal, size("mm", mm_per_unit=1), PlainSerializer(plain)]
Centimetres = Annotated[Decimal, size("cm", mm_per_unit=10), PlainSerializer(plain)]
Day = Annotated[date, PlainValidator(day, json_schema_input_type=date)]
Revision = Annotated[int, whole_number(0, 9_999)]
OptiMode = Literal["A", "B", "C", "D"]


class InvalidOrder(InvalidInput):
    """The errors of an order or customer; names from outside are made printable."""

    def __init__(self, errors: list[FieldError], count: int) -> None:
        super().__init__(
            [{**error, "field": UNSAFE_CHARS.sub("?", error["field"]) or "body"} for error in errors], count
        )


class OrderMessage(InputModel):
    most_errors, refusal = 100, InvalidOrder


class PlateSize(InputModel):
    width_mm: Millimetres
    height_mm: Millimetres

    def __str__(self) -> str:
        return f"{plain(self.width_mm)} × {plain(self.height_mm)} mm"


class Part(InputModel):
    """One line of the cutting list as ordered: centimetres, and edges by their trade names."""

    id: Text64
    part_type: Literal["GOVDE", "ARKALIK"]
    material_code: Text64
    length_cm: Annotated[Centimetres, Field(description="A cut size, or a finished one if the rules say so.")]
    width_cm: Centimetres
    quantity: Annotated[int, whole_number(1, 9_999)]
    grain: Annotated[int, whole_number(0, 3)]
    color: Text100
    thickness_mm: Millimetres
    edge_up: Text32 | None = None
    edge_lo: Text32 | None = None
    edge_sx: Text32 | None = None
    edge_dx: Text32 | None = None
    iidesc: Annotated[Text200 | None, Field(description="The drill code.")] = None
    desc1: Text200 | None = None
    delik_kodu: Annotated[Text64 | None, Field(description="Another name for `iidesc`.")] = None

    @field_validator("id")
    @classmethod
    def is_unique(cls, value: str, info: ValidationInfo[dict[str, set[str]]]) -> str:
        earlier: set[str] = info.context["part_ids"]  # read_order gives it
        if value in earlier:
            raise invalid(f"{value!r} is the id of an earlier part.")
        earlier.add(value)
        return value

    @field_validator("delik_kodu")
    @classmethod
    def is_the_drill_code(cls, value: str | None, info: ValidationInfo) -> str | None:
        iidesc = info.data.get("iidesc")
        if value and iidesc and value != iidesc:
            raise invalid(f"Another name for iidesc, which is {iidesc!r}.")
        return value

    @property
    def is_backing(self) -> bool:
        return self.part_type == "ARKALIK"

    @property
    def edges(self) -> dict[str, str]:
        return {side: name for side in EDGES if (name := getattr(self, side)) is not None}

    @property
    def drill_code(self) -> str | None:
        """Return what `[P_IIDESC]` gets."""
        return self.iidesc or self.delik_kodu


EXAMPLE = {
    "order_id": "S-1001",
    "customer_phone": "0555 123 45 67",
    "opti_mode": "C",
    "parts": [
        {
            "id": "g1",
            "part_type": "GOVDE",
            "material_code": "MAT-01",
            "length_cm": 120.5,
            "width_cm": 40,
            "quantity": 2,
            "grain": 1,
            "color": "Beyaz",
            "thickness_mm": 18,
            "edge_up": "1mm",
        }
    ],
}


class Order(OrderMessage):
    order_id: Text100
    customer_phone: Phone  # E.164
    customer_snapshot_name: Text200 | None = None
    # read_order fills in the default.
    opti_mode: Annotated[OptiMode, ShownAs(OptiMode | None), Field(description="Default: as in the rules.")] = "C"
    plate_size: PlateSize | None = None
    parts: Annotated[list[Part], Field(min_length=1, max_length=MOST_PARTS, description="Their ids are unique.")]
    revision: Annotated[Revision, ShownAs(Revision | None)] = 0
    # Not part of the canonical order: the same order with another priority is the same job.
    priority: Annotated[
        PriorityName,
        ShownAs(PriorityName | None),
        Field(description="Who is served first while jobs wait. An order that exists already keeps its own."),
    ] = "normal"

    # Nor is this: it can be changed while the job is open.
    due_on: Annotated[
        Day | None, Field(description="The day it is due. An order that exists already keeps its own.")
    ] = None

    # Nor is this: it says where.
    saw: Annotated[
        Text64 | None, Field(description="One of several saws. Default: the first in the rules that fits.")
    ] = None

    examples = {"a cupboard": EXAMPLE}


class NewCustomer(OrderMessage):
    """A customer; what papers say about it is never returned."""

    phone: Phone
    name: Text200
    address: Text400 | None = None
    tax_office: Text100 | None = None
    tax_number: Annotated[
        Annotated[Text32, AfterValidator(read_tax_number)] | None,
        Field(description="A VKN or TCKN of Turkey; of another country after its two letters."),
    ] = None

    examples = {"a customer": {"phone": "0555 123 45 67", "name": "Ayşe Yılmaz"}}


class CustomerLookup(OrderMessage):
    model_config = ConfigDict(extra="ignore")

    phone: Phone
