"""Numbers as people type them, with a comma or a point for the decimals.

A cell alone is read by `read_number`. The amounts of a file are read as the whole file writes them: `12,50` shows a
decimal comma, so `1.250` in the same file is a thousand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.translation import gettext as _

from kilit.csv.reader import CsvLine
from kilit.csv.text import CsvError

COMMA, POINT = ",", "."
MOST_DIGITS = 28  # the precision of decimal arithmetic
PLAIN = re.compile("[+-]?[0-9]+([.,][0-9]+)?")
GROUPED = re.compile(
    "[+-]?[1-9][0-9]{0,2}(?P<group>[., '\u2019\u00a0\u202f])[0-9]{3}((?P=group)[0-9]{3})*((?!(?P=group))[.,][0-9]+)?"
)
AMBIGUOUS = re.compile("[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")


def read_number(text: str) -> Decimal:
    """Read a number; ValueError says what is wrong, for the user.

    `120,5`, `120.5`, `1.205,50`, `1,205.50` and `1 205,5` are numbers. `1.205` could be 1205 or a little more than 1,
    so it is refused; `0.125` could not.
    """
    typed = text.strip()
    if len(typed) <= MOST_DIGITS and AMBIGUOUS.fullmatch(typed):
        whole, decimal = re.sub("[.,]", "", typed), typed.replace(COMMA, POINT)
        message = _("Ambiguous: %(typed)s could be %(whole)s or %(decimal)s. Write %(whole)s or %(decimal)s0.")
        raise ValueError(message % {"typed": typed, "whole": whole, "decimal": decimal})
    number = with_point(typed, decimal_mark(typed))
    if len(typed) > MOST_DIGITS or not PLAIN.fullmatch(number):
        raise ValueError(_("Not a number."))
    return Decimal(number)


def with_point(text: str, mark: str) -> str:
    """Return a number with a decimal point and no groups, given its decimal mark; other text stays as it is."""
    text = text.strip()
    grouped = GROUPED.fullmatch(text)
    if grouped and grouped["group"] != mark:
        text = text.replace(grouped["group"], "")
    return text.replace(COMMA, POINT) if mark == COMMA and PLAIN.fullmatch(text) else text


@dataclass
class AmountScan:
    """Finds out how a file writes amounts, line by line: what it knows can be stored in between."""

    columns: Sequence[str]
    shown: dict[str, int] = field(default_factory=dict)  # the first line with each decimal mark
    doubtful: tuple[int, str] | None = None

    def add(self, line: CsvLine) -> None:
        for text in filter(None, map(line.cells.get, self.columns)):
            if mark := decimal_mark(text):
                self.shown.setdefault(mark, line.number)
            elif self.doubtful is None and _is_doubtful(text, line.delimiter):
                self.doubtful = line.number, text

    def result(self) -> str:
        """Return the decimal mark of the file; CsvError if it shows both, or if an amount could be read either way."""
        if len(self.shown) > 1:
            message = _("Line %(comma)s has a decimal comma and line %(point)s a decimal point; use one of them.")
            raise CsvError(message % {"comma": self.shown[COMMA], "point": self.shown[POINT]})
        if self.doubtful and not self.shown:
            number, text = self.doubtful
            message = _("Line %(number)s: %(text)s could be a thousand or a fraction. Write amounts with two decimals.")
            raise CsvError(message % {"number": number, "text": text})
        return next(iter(self.shown), POINT)


def decimal_mark(text: str) -> str:
    """Return the decimal mark that an amount shows, or "" if it could be either."""
    if AMBIGUOUS.fullmatch(text):
        return ""
    if grouped := GROUPED.fullmatch(text):
        if grouped[3]:
            return str(grouped[3][0])
        return {COMMA: POINT, POINT: COMMA}.get(grouped["group"], "") if text.count(grouped["group"]) > 1 else ""
    plain = PLAIN.fullmatch(text)
    return str(plain[1][0]) if plain and plain[1] else ""


def _is_doubtful(text: str, delimiter: str) -> bool:
    """Return whether an amount could be a thousand.

    A program writes commas between cells and a point in numbers; a Turkish spreadsheet does neither.
    """
    return bool(AMBIGUOUS.fullmatch(text)) and (COMMA in text or delimiter != COMMA)
