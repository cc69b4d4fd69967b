"""A sheet as a grid of cells, whichever file it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.translation import gettext as _

from orchestrator.sheets.sheet_order import SheetError

MOST_CELLS = 200_000  # of a file; 5,000 parts have about 70,000

MOST_TEXT = 32_767  # characters of a cell in Excel
MOST_LETTERS = 3  # of a column


class CellError(ValueError):
    """What is wrong with a cell, for the user."""


@dataclass(frozen=True)
class Unreadable:
    """A cell whose value cannot be known: a date in place of a number, a formula without a result."""

    text: str
    message: str


Value = str | Decimal | bool | Unreadable


@dataclass
class Grid:
    """The filled cells by row and column, both from 1."""

    name: str = ""
    rows: dict[int, dict[int, Value]] = field(default_factory=dict)
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # each cell of an area: its first
    is_hidden: bool = False
    hidden_rows: set[int] = field(default_factory=set)
    about: str = ""  # how a text file was read

    def find(self, row: int, column: int) -> Value | None:
        return self.rows.get(row, {}).get(column)

    def place(self, row: int, column: int, *, across: bool = False) -> tuple[int, int]:
        """Return where the value of a cell stands: a cell merged over several rows counts for each of them.

        Merged over several columns it counts for the first, unless `across`.
        """
        top, left = self.merged.get((row, column), (row, column))
        return (top, left) if across or left == column else (row, column)

    def numbered_rows(self) -> Iterator[int]:
        return iter(sorted(self.rows))


def too_large() -> SheetError:
    return SheetError(_("The file has too many rows or cells, or too long ones. Copy the parts into a new file."))


def coordinate(row: int, column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"


def position(cell: str) -> tuple[int, int]:
    column = 0
    letters = cell.rstrip("0123456789")
    if len(letters) > MOST_LETTERS:
        raise ValueError(f"{cell[:20]} is not a cell")
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(cell[len(letters) :]), column


def clean_text(text: str) -> str:
    """Return text in one line: in cells, people break lines for looks."""
    if len(text) > MOST_TEXT:
        raise too_large()
    return " ".join(text.split())
