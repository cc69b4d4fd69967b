"""What is read from a sheet: an order, the cell of each of its fields, where other values come from, and the faults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any


class SheetError(ValueError):
    """Why a file cannot be read at all; the message is for the user. `sheets` lists the sheets to choose from."""

    def __init__(self, message: str, *, sheets: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.sheets = sheets


@dataclass(frozen=True)
class SheetDefaults:
    """What the caller says about the order, for what the sheet does not say. Empty is not given."""

    order_id: str = ""
    customer_phone: str = ""
    customer_snapshot_name: str = ""
    opti_mode: str = ""
    revision: int | None = None
    priority: str = ""
    due_on: date | None = None
    saw: str = ""
    material_code: str = ""
    color: str = ""
    thickness_mm: Decimal | None = None
    edge: str = ""  # a name of the rules' edgeMapping, or a thickness such as 0,4


@dataclass(frozen=True)
class CellFault:
    """A fault; `cell` is as B7, and empty if no cell is to blame. `field` is as `parts.0.length_cm`."""

    cell: str
    field: str
    message: str


class Origin(StrEnum):
    CELL = "cell"
    FILE = "file"
    FILE_NAME = "file name"
    CALLER = "caller"
    RULES = "rules"
    DEFAULT = "default"


@dataclass(frozen=True)
class Source:
    """Where a value comes from, for people: `thickness_mm` 18 from cell A3."""

    field: str
    value: str
    origin: Origin
    cell: str = ""
    note: str = ""  # how it was read: `210*280 is in centimetres`


@dataclass(frozen=True)
class SheetOrder:
    """An order as a sheet has it.

    `order` is what `POST /jobs` takes, with numbers as Decimal or int; a cell that cannot be read is in it as its text.
    """

    layout: str  # "kilit", "list", or the name of a program's
    sheet: str  # the name of the sheet that was read; empty for CSV
    order: dict[str, Any]
    cells: Mapping[str, str]  # of each field that has one: {"parts.0.length_cm": "B7"}
    sources: list[Source] = field(default_factory=list)
    faults: list[CellFault] = field(default_factory=list)  # as a person reads the sheet: by row, then by column
    faults_beyond: int = 0  # further faults
