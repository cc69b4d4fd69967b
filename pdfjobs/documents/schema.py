"""Fields of a document's variables. Each reads one value, or reports what is wrong with it and its path."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any

from kilit.lock.text import CONTROL_CHARS

MOST_ERRORS = 50
LONGEST_NAME = 80  # characters of a name that is shown in a error
NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,6})?", re.ASCII)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
REQUIRED: Any = object()


class FieldErrors(list[str]):
    """Everything that is wrong, up to MOST_ERRORS."""

    def add(self, path: str, message: str) -> None:
        if len(self) < MOST_ERRORS:
            self.append(f"{path}: {message}" if path else message)


@dataclass(frozen=True)
class Field(ABC):
    about: str = ""
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @abstractmethod
    def read(self, value: Any, path: str, errors: FieldErrors) -> Any:
        """Return the value in its Python type."""

    @abstractmethod
    def allowed(self) -> str:
        """Describe what may be sent."""


@dataclass(frozen=True)
class Text(Field):
    most: int = 200
    lines: bool = False

    def read(self, value: Any, path: str, errors: FieldErrors) -> str:
        if not isinstance(value, str):
            errors.add(path, f"expected {self.allowed()}.")
            return ""
        text = value.replace("\r\n", "\n").strip()
        if len(text) > self.most:
            errors.add(path, f"{len(text)} characters; at most {self.most} are allowed.")
        elif CONTROL_CHARS.search(text.replace("\t", " ").replace("\n", " ")) or ("\n" in text and not self.lines):
            shown = (
                "control characters or broken ones" if self.lines else "line breaks, control characters or broken ones"
            )
            errors.add(path, f"has characters that cannot be shown here: {shown}.")
        elif self.required and not text:
            errors.add(path, "must not be empty.")
        return text

    def allowed(self) -> str:
        return f"a text of at most {self.most} characters" + (", line breaks kept" if self.lines else "")


@dataclass(frozen=True)
class Choice(Field):
    words: tuple[str, ...] = ()

    def read(self, value: Any, path: str, errors: FieldErrors) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        errors.add(path, f"expected {self.allowed()}.")
        return self.words[0]

    def allowed(self) -> str:
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Amount(Field):
    """An exact number, sent as a number or as a string such as `"1234.50"`."""

    least: Decimal = Decimal(0)
    most: Decimal = Decimal(10**10)
    places: int = 2

    def read(self, value: Any, path: str, errors: FieldErrors) -> Decimal:
        """Return the number as it was written, not through binary floating point."""
        written = value if isinstance(value, str) else ""
        # Python refuses to convert a very long integer to a string.
        if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12):
            written = str(value).removesuffix(".0")
        if NUMBER.fullmatch(written) is None:
            errors.add(path, f"expected {self.allowed()}.")
            return Decimal(0)
        number = Decimal(written)
        if not self.least <= number <= self.most or number != round(number, self.places):
            errors.add(path, f"expected {self.allowed()}.")
        if not self.places:
            return Decimal(int(number))  # "1.0" becomes 1, also when printed
        return abs(number) if number.is_zero() else number

    def allowed(self) -> str:
        digits = f", at most {self.places} decimals" if self.places else ", whole"
        return f"a number from {self.least} to {self.most}{digits}"


@dataclass(frozen=True)
class Day(Field):
    def read(self, value: Any, path: str, errors: FieldErrors) -> date:
        try:
            if isinstance(value, str) and DATE.fullmatch(value):
                return date.fromisoformat(value)
        except ValueError:
            pass  # such as 2026-02-30
        errors.add(path, f"expected {self.allowed()}.")
        return date.min

    def allowed(self) -> str:
        return "a date as YYYY-MM-DD"


@dataclass(frozen=True)
class Flag(Field):
    def read(self, value: Any, path: str, errors: FieldErrors) -> bool:
        if not isinstance(value, bool):
            errors.add(path, f"expected {self.allowed()}.")
        return value is True

    def allowed(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class FieldGroup(Field):
    fields: Mapping[str, Field] = None  # type: ignore[assignment]  # always given; a dataclass needs a default here

    def read(self, value: Any, path: str, errors: FieldErrors) -> dict[str, Any]:
        """Return each field's value; an unknown name is a error, because it is probably a typo."""
        if not isinstance(value, Mapping):
            errors.add(path, "expected an object.")
            return {}
        for name in islice((name for name in value if name not in self.fields), MOST_ERRORS):
            errors.add(_join(path, str(name)[:LONGEST_NAME]), f"is not known. Allowed: {', '.join(self.fields)}.")
        return {
            name: self._one(field, value.get(name), _join(path, name), errors) for name, field in self.fields.items()
        }

    def walk(self, path: str = "", row: str = ".*") -> Iterator[tuple[str, Field]]:
        """Yield every field with its path; `row` stands for an index into a list."""
        for name, field in self.fields.items():
            yield f"{path}{name}", field
            if isinstance(field, FieldGroup):
                yield from field.walk(f"{path}{name}.", row)
            if isinstance(field, Rows):
                yield from field.group().walk(f"{path}{name}{row}.", row)

    def allowed(self) -> str:
        return "an object"

    @staticmethod
    def _one(field: Field, value: Any, path: str, errors: FieldErrors) -> Any:
        if value is not None:
            return field.read(value, path, errors)
        if not field.required:
            return field.default
        errors.add(path, f"is required: {field.allowed()}.")
        return None


@dataclass(frozen=True)
class Rows(Field):
    row: Mapping[str, Field] = None  # type: ignore[assignment]  # as above
    least: int = 1
    most: int = 1000
    inner: str = ""  # a list inside each row whose total length over all rows is limited
    most_inner: int = 0

    def read(self, value: Any, path: str, errors: FieldErrors) -> list[dict[str, Any]]:
        if not isinstance(value, list | tuple) or not self.least <= len(value) <= self.most or self._overflows(value):
            errors.add(path, f"expected {self.allowed()}.")
            return []
        return [self.group().read(row, f"{path}.{index}", errors) for index, row in enumerate(value)]

    def group(self) -> FieldGroup:
        return FieldGroup(fields=self.row)

    def allowed(self) -> str:
        together = f", at most {self.most_inner} {self.inner} in all" if self.inner else ""
        return f"a list of {self.least} to {self.most} objects{together}"

    def _overflows(self, rows: Iterable[Any]) -> bool:
        lists = [row.get(self.inner) for row in rows if isinstance(row, Mapping)] if self.inner else []
        return sum(len(inner) for inner in lists if isinstance(inner, list | tuple)) > self.most_inner


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
