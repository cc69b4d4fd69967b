"""Orders and customers as clients send them; lengths, sizes and phone numbers are cleaned as they are read."""

import re
import unicodedata
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal, Self

import phonenumbers
from django.utils.translation import gettext_noop
from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo, field_validator

from kilit.api.messages import FieldError, InvalidMessage, Message, ShownAs, invalid
from kilit.lock.text import CONTROL_CHARS

EDGES = ("edge_up", "edge_lo", "edge_sx", "edge_dx")
MOST_PARTS = 5_000
LARGEST_MM = 5_000
DIGITS = 28  # the precision of decimal arithmetic
REGION = "TR"
CENTS = Decimal("0.01")

# Stricter than elsewhere, because these texts become file names, cells of XLSX and lines in a terminal: also line
# separators, directional overrides and further code points that are not characters.
UNSAFE_CHARS = re.compile(CONTROL_CHARS.pattern[:-1] + r"\x80-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef]")
PHONE = re.compile(r"[0-9+()./ -]{5,32}")


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character: spaces, joiners and marks alone are not."""
    categories = map(unicodedata.category, text)
    return any(category != "Cf" and category[0] not in "ZM" for category in categories)


def read_text(value: Any, longest: int) -> str:
    """Return trimmed, non-empty text in composed Unicode form (NFC)."""
    if not isinstance(value, str):
        raise invalid("Expected a string.")
    if UNSAFE_CHARS.search(value):
        raise invalid(gettext_noop("Control characters and broken Unicode are not allowed."))
    clean = unicodedata.normalize("NFC", value).strip()
    if not is_visible(clean):
        raise invalid(gettext_noop("This may not be empty."))
    if len(clean) > longest:
        raise invalid(f"At most {longest} characters.")
    return clean


def text(longest: int) -> PlainValidator:
    shown = Annotated[str, Field(min_length=1, max_length=longest)]
    return PlainValidator(lambda value: read_text(value, longest), json_schema_input_type=shown)


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
    expected = f"Expected a size above 0, up to {most:,} {unit}."

    def read(value: Any) -> Decimal:
        if type(value) not in (int, float, Decimal) or not 0 < value <= most:
            raise invalid(expected)
        exact = Decimal(str(value))  # of a float as well: 0.1 means a tenth, not the nearest binary fraction
        if len(exact.as_tuple().digits) > DIGITS:
            raise invalid(f"At most {DIGITS} digits.")
        if (exact * mm_per_unit).quantize(CENTS, ROUND_HALF_UP) == 0:
            raise invalid("Smaller than a hundredth of a millimetre.")
        return exact

    return PlainValidator(read, json_schema_input_type=Annotated[float, Field(gt=0, le=most)])


def phone(value: Any) -> str:
    """Return a phone number in E.164 format; `0555 123 45 67` and `00905551234567` are the same."""
    number = read_text(value, 40)
    error = invalid(gettext_noop("Not a valid phone number. Examples: 0555 123 45 67, +90 555 123 45 67."))
    if not PHONE.fullmatch(number):
        raise error
    try:
        parsed = phonenumbers.parse(number, REGION)
    except phonenumbers.NumberParseException:
        raise error from None
    if not phonenumbers.is_valid_number(parsed):
        raise error
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def plain(value: Decimal) -> str:
    """Return a number without exponent or trailing zeros: 18, not 18.0 or 1.8E+1."""
    return format(value.normalize(), "f")


ShownPhone = Annotated[str, Field(max_length=40, description="In any format.", examples=["0555 123 45 67"])]
Phone = Annotated[str, PlainValidator(phone, json_schema_input_type=ShownPhone)]
OptiMode = Literal["A", "B", "C"]
Revision = Annotated[int, whole_number(0, 9_999)]
Key = Annotated[str, text(64)]
Note = Annotated[str, text(200)]
Edge = Annotated[str, text(32)]
Millimetres = Annotated[Decimal, size("mm", mm_per_unit=1), PlainSerializer(plain)]
Centimetres = Annotated[Decimal, size("cm", mm_per_unit=10), PlainSerializer(plain)]


class InvalidOrder(InvalidMessage):
    """An invalid order or customer; its names come from outside, so they are made printable."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__([{**error, "field": UNSAFE_CHARS.sub("?", error["field"]) or "body"} for error in errors])


class OrderMessage(Message):
    @classmethod
    def read(cls, data: Any, *, context: Mapping[str, Any] | None = None) -> Self:
        try:
            return super().read(data, context=context)
        except InvalidMessage as error:
            raise InvalidOrder(error.errors) from None


class PlateSize(Message):
    width_mm: Millimetres
    height_mm: Millimetres


class Part(Message):
    """One line of the cutting list as ordered: centimetres, and edges by their trade names."""

    id: Key
    part_type: Literal["GOVDE", "ARKALIK"]
    material_code: Key
    length_cm: Centimetres
    width_cm: Centimetres
    quantity: Annotated[int, whole_number(1, 9_999)]
    grain: Annotated[int, whole_number(0, 3)]
    color: Annotated[str, text(100)]
    thickness_mm: Millimetres
    edge_up: Edge | None = None
    edge_lo: Edge | None = None
    edge_sx: Edge | None = None
    edge_dx: Edge | None = None
    iidesc: Note | None = None
    desc1: Note | None = None
    delik_kodu: Key | None = None

    @field_validator("id")
    @classmethod
    def is_unique(cls, value: str, info: ValidationInfo) -> str:
        earlier: set[str] = info.context["part_ids"]  # type: ignore[index]  # read_order gives it
        if value in earlier:
            raise invalid(f"{value!r} is the id of an earlier part.")
        earlier.add(value)
        return value


class Order(OrderMessage):
    order_id: Annotated[str, text(100)]
    customer_phone: Phone  # E.164
    customer_snapshot_name: Note | None = None
    # read_order fills in the default.
    opti_mode: Annotated[OptiMode, ShownAs(OptiMode | None), Field(description="Default: as in the rules.")] = "C"
    plate_size: PlateSize | None = None
    parts: Annotated[list[Part], Field(min_length=1, max_length=MOST_PARTS, description="Their ids are unique.")]
    revision: Annotated[Revision, ShownAs(Revision | None)] = 0


class CustomerLookup(OrderMessage):
    phone: Phone


class NewCustomer(CustomerLookup):
    name: Note
