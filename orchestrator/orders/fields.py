"""Reads the fields of an order: each reader returns a clean value, or says what is wrong and what is allowed."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import phonenumbers
from django.utils.translation import gettext_noop

LARGEST_MM = 5_000
DIGITS = 28  # the precision of decimal arithmetic
REGION = "TR"
CENTS = Decimal("0.01")

# Control characters, halves of surrogate pairs, and what XML or a terminal cannot show as it is: line separators,
# directional overrides, non-characters.
CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
PHONE = re.compile(r"[0-9+()./ -]{5,32}")


@dataclass(frozen=True)
class FieldReader:
    """Reads one value; `shape` tells integrators in JSON Schema what is read, as far as that has words for it."""

    read: Callable[[Any], Any]
    shape: Mapping[str, Any]

    def __call__(self, value: Any) -> Any:
        return self.read(value)


class InvalidField(ValueError):  # noqa: N818 - it is the answer about one field
    """Why a field is refused, in words for whoever sent it."""


class MissingField(InvalidField):
    """The field is not there."""

    def __init__(self) -> None:
        super().__init__("This field is required.")


class BodyReader:
    """One body being read; collects the faults with their places."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._listed: set[tuple[str, ...]] = set()

    def fault(self, place: str, wrong: InvalidField) -> None:
        self.faults.append(f"{place}: {wrong}")

    def object(self, place: str, raw: Any, readers: Mapping[str, FieldReader]) -> dict[str, Any]:
        if isinstance(raw, Mapping):
            return self.fields(f"{place}.", raw, readers)
        self.fault(place, InvalidField("Expected an object."))
        return {}

    def fields(
        self, prefix: str, raw: Mapping[Any, Any], readers: Mapping[str, FieldReader], *, beside: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Read each field by its reader; a name that nobody knows is more likely a slip than an addition."""
        for name in raw:
            if name not in readers:
                self.fault(prefix + shown(name), self._unknown((*readers, *beside)))
        values = {}
        for name, read in readers.items():
            try:
                values[name] = read(raw.get(name))
            except InvalidField as wrong:
                self.fault(prefix + name, wrong)
        return values

    def _unknown(self, known: tuple[str, ...]) -> InvalidField:
        # Listed once: the same slip is in every part, and a thousand lists would hide the rest.
        if known in self._listed:
            return InvalidField("Unknown field.")
        self._listed.add(known)
        return InvalidField(f"Unknown field; known are {', '.join(known)}.")


def shown(name: Any) -> str:
    """Return a name from outside in a form that a message can carry."""
    return CONTROL_CHARS.sub("?", str(name))[:64]


def is_visible(text: str) -> bool:
    """Tell whether anything of a text can be seen: spaces, joiners and marks alone cannot."""
    categories = map(unicodedata.category, text)
    return any(category != "Cf" and category[0] not in "ZM" for category in categories)


def text(longest: int) -> FieldReader:
    """Return a reader of trimmed, non-empty text; composed and decomposed letters are the same."""

    def read(value: Any) -> str:
        if value is None:
            raise MissingField
        if not isinstance(value, str):
            raise InvalidField("Expected a string.")
        if CONTROL_CHARS.search(value):
            raise InvalidField(gettext_noop("Control characters and broken Unicode are not allowed."))
        clean = unicodedata.normalize("NFC", value).strip()
        if not is_visible(clean):
            raise InvalidField(gettext_noop("This may not be empty."))
        if len(clean) > longest:
            raise InvalidField(f"At most {longest} characters.")
        return clean

    return FieldReader(read, {"type": "string", "minLength": 1, "maxLength": longest})


def optional_text(longest: int) -> FieldReader:
    """Return a reader of text that may be left out."""
    given = text(longest)
    return FieldReader(
        lambda value: None if value is None else given(value), {**given.shape, "type": ["string", "null"]}
    )


def word(choices: tuple[str, ...]) -> FieldReader:
    """Return a reader of one of the listed words."""

    def read(value: Any) -> str:
        if value is None:
            raise MissingField
        if not isinstance(value, str) or value not in choices:
            raise InvalidField(f"Expected one of {', '.join(choices)}.")
        return value

    return FieldReader(read, {"type": "string", "enum": list(choices)})


def number(value: Any) -> Decimal:
    """Return a JSON number exactly as it was written; a boolean is none, nor is text."""
    if value is None:
        raise MissingField
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidField("Expected a number.")
    # By its shortest spelling: 0.1 means a tenth, not the binary fraction next to it.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise InvalidField("Expected a finite number.")
    return exact


def whole_number(*, least: int, most: int) -> FieldReader:
    """Return a reader of a whole number within its bounds; 2.0 is the same number as 2."""

    def read(value: Any) -> int:
        exact = number(value)
        if not least <= exact <= most or exact != int(exact):
            raise InvalidField(f"Expected a whole number from {least} to {most:,}.")
        return int(exact)

    return FieldReader(read, {"type": "integer", "minimum": least, "maximum": most})


def size(*, mm_per_unit: int = 1) -> FieldReader:
    """Return a reader of a size that can be cut: at least a hundredth of a millimetre, at most five metres."""
    most = f"{LARGEST_MM // mm_per_unit:,} {'cm' if mm_per_unit > 1 else 'mm'}"

    def read(value: Any) -> Decimal:
        exact = number(value)
        if not 0 < exact <= Decimal(LARGEST_MM) / mm_per_unit:
            raise InvalidField(f"Expected a size above 0, up to {most}.")
        if len(exact.as_tuple().digits) > DIGITS:
            raise InvalidField(f"At most {DIGITS} digits.")
        if (exact * mm_per_unit).quantize(CENTS, ROUND_HALF_UP) == 0:
            raise InvalidField("Smaller than a hundredth of a millimetre.")
        return exact

    return FieldReader(read, {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_MM // mm_per_unit})


def phone(value: Any) -> str:
    """Return a phone number as E.164; `0555 123 45 67` and `00905551234567` are the same one."""
    spelt = text(40)(value)
    wrong = InvalidField(
        gettext_noop("Not a phone number that exists, as 0555 123 45 67 or +90 555 123 45 67 would be.")
    )
    if not PHONE.fullmatch(spelt):
        raise wrong
    try:
        parsed = phonenumbers.parse(spelt, REGION)
    except phonenumbers.NumberParseException:
        raise wrong from None
    if not phonenumbers.is_valid_number(parsed):
        raise wrong
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def plain(value: Decimal) -> str:
    """Return a number without an exponent and without idle zeros: 18, not 18.0 or 1.8E+1."""
    return format(value.normalize(), "f")
