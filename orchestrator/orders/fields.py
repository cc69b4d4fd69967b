"""Readers of an order's fields: each returns a clean value or raises OrderFieldError with what is allowed."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import phonenumbers
from django.utils.translation import gettext_noop

from kilit.lock.text import CONTROL_CHARS

LARGEST_MM = 5_000
DIGITS = 28  # the precision of decimal arithmetic
REGION = "TR"
CENTS = Decimal("0.01")

# Stricter than elsewhere, because these texts become file names, cells of XLSX and lines in a terminal: also line
# separators, directional overrides and further code points that are not characters.
UNSAFE_CHARS = re.compile(CONTROL_CHARS.pattern[:-1] + r"\x80-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef]")
PHONE = re.compile(r"[0-9+()./ -]{5,32}")


@dataclass(frozen=True)
class FieldReader:
    """Reads one value; `shape` describes it in JSON Schema as far as that is possible."""

    read: Callable[[Any], Any]
    shape: Mapping[str, Any]

    def __call__(self, value: Any) -> Any:
        return self.read(value)


class OrderFieldError(ValueError):
    """The message is shown to the client."""


class RequiredFieldError(OrderFieldError):
    def __init__(self) -> None:
        super().__init__("This field is required.")


class BodyReader:
    """Reads one request body and collects every error with its path."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._listed: set[tuple[str, ...]] = set()

    def add_error(self, path: str, error: OrderFieldError) -> None:
        self.errors.append(f"{path}: {error}")

    def object(self, path: str, raw: Any, readers: Mapping[str, FieldReader]) -> dict[str, Any]:
        if isinstance(raw, Mapping):
            return self.fields(f"{path}.", raw, readers)
        self.add_error(path, OrderFieldError("Expected an object."))
        return {}

    def fields(
        self, prefix: str, raw: Mapping[Any, Any], readers: Mapping[str, FieldReader], *, beside: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Read each field; an unknown name is an error, because it is most likely a typo."""
        for name in raw:
            if name not in readers:
                self.add_error(prefix + printable(name), self._unknown((*readers, *beside)))
        values = {}
        for name, read in readers.items():
            try:
                values[name] = read(raw.get(name))
            except OrderFieldError as error:
                self.add_error(prefix + name, error)
        return values

    def _unknown(self, known: tuple[str, ...]) -> OrderFieldError:
        # Listed once: the same typo is in every part, and a thousand lists would hide the other errors.
        if known in self._listed:
            return OrderFieldError("Unknown field.")
        self._listed.add(known)
        return OrderFieldError(f"Unknown field. Known fields: {', '.join(known)}.")


def printable(name: Any) -> str:
    return UNSAFE_CHARS.sub("?", str(name))[:64]


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character: spaces, joiners and marks alone are not."""
    categories = map(unicodedata.category, text)
    return any(category != "Cf" and category[0] not in "ZM" for category in categories)


def text(longest: int) -> FieldReader:
    """Read trimmed, non-empty text in composed Unicode form (NFC)."""

    def read(value: Any) -> str:
        if value is None:
            raise RequiredFieldError
        if not isinstance(value, str):
            raise OrderFieldError("Expected a string.")
        if UNSAFE_CHARS.search(value):
            raise OrderFieldError(gettext_noop("Control characters and broken Unicode are not allowed."))
        clean = unicodedata.normalize("NFC", value).strip()
        if not is_visible(clean):
            raise OrderFieldError(gettext_noop("This may not be empty."))
        if len(clean) > longest:
            raise OrderFieldError(f"At most {longest} characters.")
        return clean

    return FieldReader(read, {"type": "string", "minLength": 1, "maxLength": longest})


def optional_text(longest: int) -> FieldReader:
    given = text(longest)
    return FieldReader(
        lambda value: None if value is None else given(value), {**given.shape, "type": ["string", "null"]}
    )


def word(choices: tuple[str, ...]) -> FieldReader:
    def read(value: Any) -> str:
        if value is None:
            raise RequiredFieldError
        if not isinstance(value, str) or value not in choices:
            raise OrderFieldError(f"Expected one of {', '.join(choices)}.")
        return value

    return FieldReader(read, {"type": "string", "enum": list(choices)})


def number(value: Any) -> Decimal:
    """Return a JSON number exactly as written; booleans and strings are not numbers."""
    if value is None:
        raise RequiredFieldError
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise OrderFieldError("Expected a number.")
    # Through repr: 0.1 means a tenth, not the nearest binary fraction.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise OrderFieldError("Expected a finite number.")
    return exact


def whole_number(*, least: int, most: int) -> FieldReader:
    """Read a whole number within its bounds; 2.0 is the same as 2."""

    def read(value: Any) -> int:
        exact = number(value)
        if not least <= exact <= most or exact != int(exact):
            raise OrderFieldError(f"Expected a whole number from {least} to {most:,}.")
        return int(exact)

    return FieldReader(read, {"type": "integer", "minimum": least, "maximum": most})


def size(*, mm_per_unit: int = 1) -> FieldReader:
    """Read a size that can be cut: from a hundredth of a millimetre to five metres."""
    most = f"{LARGEST_MM // mm_per_unit:,} {'cm' if mm_per_unit > 1 else 'mm'}"

    def read(value: Any) -> Decimal:
        exact = number(value)
        if not 0 < exact <= Decimal(LARGEST_MM) / mm_per_unit:
            raise OrderFieldError(f"Expected a size above 0, up to {most}.")
        if len(exact.as_tuple().digits) > DIGITS:
            raise OrderFieldError(f"At most {DIGITS} digits.")
        if (exact * mm_per_unit).quantize(CENTS, ROUND_HALF_UP) == 0:
            raise OrderFieldError("Smaller than a hundredth of a millimetre.")
        return exact

    return FieldReader(read, {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_MM // mm_per_unit})


def phone(value: Any) -> str:
    """Return a phone number in E.164 format; `0555 123 45 67` and `00905551234567` are the same."""
    number = text(40)(value)
    invalid = OrderFieldError(gettext_noop("Not a valid phone number. Examples: 0555 123 45 67, +90 555 123 45 67."))
    if not PHONE.fullmatch(number):
        raise invalid
    try:
        parsed = phonenumbers.parse(number, REGION)
    except phonenumbers.NumberParseException:
        raise invalid from None
    if not phonenumbers.is_valid_number(parsed):
        raise invalid
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def plain(value: Decimal) -> str:
    """Return a number without exponent or trailing zeros: 18, not 18.0 or 1.8E+1."""
    return format(value.normalize(), "f")
