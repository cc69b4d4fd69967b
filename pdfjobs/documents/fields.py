"""The types of documents' variables, for `Annotated`. Each reads a value, and says what may be sent."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import model_validator
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from kilit.api.input_model import Expected, InputModel, invalid, unwrap
from kilit.lock.text import CONTROL_CHARS

MOST_ERRORS = 50
LARGEST = 10**12
NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,6})?", re.ASCII)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Variables(InputModel):
    """The variables of a document, or an object in them.

    Null is the same as absent, and so is an empty text where one is required.
    """

    most_errors: ClassVar[int | None] = MOST_ERRORS

    @model_validator(mode="before")
    @classmethod
    def _without_absent(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        fields = cls.model_fields
        unknown = islice((name for name in value if name not in fields), MOST_ERRORS)
        present = (name for name in fields if not _is_absent(value.get(name), is_required=fields[name].is_required()))
        return {name: value[name] for name in chain(present, unknown)}


@dataclass(frozen=True)
class Checked(Expected):
    """A type whose values are read by a function, which returns None for a value that is not as expected."""

    read: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def check(self, value: object) -> Any:
        read = self.read(value)
        if read is None:
            raise invalid(f"Expected {self.text}.")
        return read


class Text(Checked):
    def __init__(self, most: int, *, lines: bool = False) -> None:
        def read(value: object) -> str | None:
            if not isinstance(value, str):
                return None
            text = value.replace("\r\n", "\n").strip()
            if len(text) > most:
                raise invalid(f"At most {most} characters, got {len(text):,}.")
            if CONTROL_CHARS.search(text.replace("\t", " ").replace("\n", " " if lines else "\n")):
                refused = "Control characters" if lines else "Line breaks, control characters"
                raise invalid(f"{refused} and broken Unicode are not allowed.")
            return text

        super().__init__(f"a text of at most {most} characters" + (", line breaks kept" if lines else ""), read)


class Choice(Checked):
    def __init__(self, *words: str) -> None:
        super().__init__(f"one of {', '.join(words)}", lambda value: value if value in words else None)


class Amount(Checked):
    """An exact number, sent as a number or as a string such as `"1234.50"`."""

    def __init__(self, *, least: Decimal = Decimal(0), most: int = 10**10, places: int = 2) -> None:
        def read(value: object) -> Decimal | None:
            number = _number(value)
            if number is None or not least <= number <= most or number != round(number, places):
                return None
            return abs(round(number, places)) if number.is_zero() else round(number, places)

        digits = f"at most {places} decimals" if places else "whole"
        super().__init__(f"a number from {least} to {most}, {digits}", read)


class Rows(Checked):
    """A list of objects; `inner` is a list in each of them whose total length is limited."""

    def __init__(self, most: int, *, least: int = 1, inner: str = "", most_inner: int = 0) -> None:
        def read(value: object) -> list[Any] | None:
            if not isinstance(value, list) or not least <= len(value) <= most:
                return None
            lists = [row.get(inner) for row in value if isinstance(row, dict)] if inner else []
            return value if sum(len(items) for items in lists if isinstance(items, list)) <= most_inner else None

        together = f", at most {most_inner} {inner} in all" if inner else ""
        super().__init__(f"a list of {least} to {most} objects{together}", read)


def walk(model: type[Variables], path: str = "", row: str = ".*") -> Iterator[tuple[str, str, FieldInfo]]:
    """Yield the path of every field, what may be sent, and the field; `row` stands for an index into a list."""
    for name, field in model.model_fields.items():
        hint, notes = unwrap(field.annotation, field.metadata)
        yield path + name, next((note.text for note in notes if isinstance(note, Expected)), "an object"), field
        inner = get_args(hint)[0] if get_origin(hint) is list else hint
        if issubclass(inner, Variables):
            yield from walk(inner, f"{path}{name}{'' if inner is hint else row}.", row)


def _is_absent(value: object, *, is_required: bool) -> bool:
    return value is None or (is_required and isinstance(value, str) and not value.strip())


def _number(value: object) -> Decimal | None:
    if isinstance(value, str):
        return Decimal(value) if NUMBER.fullmatch(value) else None
    # Compared first: a huge exponent or a very long integer cannot be computed with. The bounds exclude NaN, too.
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not -LARGEST < value < LARGEST:
        return None
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) and DATE.fullmatch(value) else None
    except ValueError:  # such as 2026-02-30
        return None


Day = Annotated[date, Checked("a date as YYYY-MM-DD", _day)]
Flag = Annotated[bool, Expected("true or false")]
LongText = Annotated[str, Text(2000, lines=True)]
Rate = Annotated[Decimal, Amount(most=100)]
