"""Reads page options from JSON; each error starts with its path."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from kilit.lock.text import CONTROL_CHARS

MOST_UNKNOWN = 50  # unknown names reported per object
LONGEST_NAME = 80  # characters of a name shown in a error


class Reader:
    """Reads one object; nested readers share its list of errors."""

    def __init__(self, path: str, given: Any, *, known: list[str], errors: list[str] | None = None) -> None:
        self.path, self.known = path, known
        self.errors: list[str] = [] if errors is None else errors
        self.given: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            self.errors.append(f"{path}: expected an object.")
        for key in islice((key for key in self.given if key not in known), MOST_UNKNOWN):
            self.error(str(key)[:LONGEST_NAME], f"is not known. Allowed: {', '.join(known)}.")

    def error(self, name: str, message: str) -> None:
        self.errors.append(f"{self.path}.{name}: {message}")

    def inside(self, name: str, known: list[str]) -> "Reader":
        """Return a reader for a nested object; a missing one is empty."""
        return Reader(f"{self.path}.{name}", self.given.get(name, {}), known=known, errors=self.errors)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.given.get(name, default)
        if not isinstance(value, bool):
            self.error(name, "expected true or false.")
            return default
        return value

    def choice(self, name: str, allowed: Iterable[str], default: str) -> str:
        value = self.given.get(name, default)
        if not isinstance(value, str) or value not in allowed:
            self.error(name, f"{_short(value)} is not one of {', '.join(allowed)}.")
            return default
        return value

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        """Return a number within its bounds, to a tenth."""
        value = self.given.get(name, default)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        # The bounds exclude infinity and NaN, too; `math.isfinite` would fail for a very large integer.
        if not number or not least <= value <= most:
            self.error(name, f"{_short(value)} is not a number from {least:g} to {most:g}.")
            return default
        return round(float(value), 1)

    def text(self, name: str, *, most: int) -> str:
        return self._text(name, self.given.get(name, ""), most=most)

    def texts(self, name: str, *, most: int, count: int) -> tuple[str, ...]:
        value = self.given.get(name, [])
        if not isinstance(value, list | tuple) or len(value) > count:
            self.error(name, f"expected a list of at most {count} texts.")
            return ()
        return tuple(self._text(f"{name}.{index}", text, most=most) for index, text in enumerate(value))

    def _text(self, name: str, value: Any, *, most: int) -> str:
        if not isinstance(value, str):
            self.error(name, "expected a text.")
        elif len(value) > most:
            self.error(name, f"{len(value)} characters; at most {most} are allowed.")
        elif CONTROL_CHARS.search(value):
            self.error(name, "contains line breaks, control characters or unpaired surrogates.")
        else:
            return value
        return ""


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}…"  # noqa: PLR2004
