"""Reads an order as it was typed, and says what is wrong with it in the reader's language."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kilit.csv.numbers import read_number
from orchestrator.orders.order import read_order
from orchestrator.planning.saws import refuse_uncuttable
from orchestrator.schemas.orders import EDGES, LARGEST_MM, InvalidOrder, Order
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.headings import fold
from orchestrator.sheets.part_reader import PART_TYPES, Marked, read_edge

# Of the grid, in its order; each is the field of a part, but sizes have no unit.
COLUMNS = (
    "material_code",
    "color",
    "thickness_mm",
    "part_type",
    "length",
    "width",
    "quantity",
    "grain",
    *EDGES,
    "iidesc",
    "desc1",
    "id",
)
FIELDS = (
    "order_id",
    "customer_phone",
    "customer_snapshot_name",
    "opti_mode",
    "plate_width",
    "plate_height",
    "priority",
    "revision",
    "due_on",
    "saw",
)
# What is wrong with the sheet as a whole, until the user has looked at it.
SHEET_FAULTS = "sheet_faults"
UNITS = {"mm": Decimal("0.1"), "cm": Decimal(1)}  # in centimetres
# What a cell stands for in the order, where its name differs.
PART_FIELDS = {"length": "length_cm", "width": "width_cm"}
ORDER_FIELDS = {"plate_width": "plate_size.width_mm", "plate_height": "plate_size.height_mm"}
CELLS = {field: name for name, field in (PART_FIELDS | ORDER_FIELDS).items()}
NUMBERS = ("thickness_mm", "length", "width", "quantity", "grain")
# As an empty cell is read; the grid shows it as a placeholder.
EMPTY = {"part_type": "GOVDE", "grain": "0"}
TOO_LARGE = r"Part .*, (?P<size>\S+ × \S+ mm), is larger than the plate of (?P<plate>.+) less (?P<trim>\S+) mm of trim"


# By the texts of kilit.api.input_model, orchestrator.schemas.orders and orchestrator.planning.fitting.
PATTERNS = {
    r"This field is required\b.*": gettext_noop("Fill this in."),
    r"At most (?P<most>\d+) characters\.": gettext_noop("At most %(most)s characters."),
    r"At most (?P<most>\d+) digits\.": gettext_noop("At most %(most)s digits."),
    r"Expected one of (?P<words>.+)\.": gettext_noop("Expected one of %(words)s."),
    r"Expected at least 1, got 0\.": gettext_noop("The order has no parts."),
    r"Expected at most (?P<most>[\d,]+), got (?P<given>[\d,]+)\.": gettext_noop(
        "At most %(most)s parts; these are %(given)s."
    ),
    r"Expected a whole number from (?P<least>\d+) to (?P<most>[\d,]+)\.": gettext_noop(
        "Expected a whole number from %(least)s to %(most)s."
    ),
    r"Expected a size above 0, up to (?P<most>[\d,]+) (?P<unit>\w+)\.": gettext_noop(
        "Expected a size above 0, up to %(most)s %(unit)s."
    ),
    r"'(?P<id>.*)' is the id of an earlier part\.": gettext_noop("“%(id)s” is the id of an earlier part."),
    rf"{TOO_LARGE}\.": gettext_noop("%(size)s is larger than the plate of %(plate)s less %(trim)s mm of trim."),
    rf"{TOO_LARGE}, .+": gettext_noop(
        "%(size)s is larger than the plate of %(plate)s less %(trim)s mm of trim, and its grain does not allow "
        "it to be turned."
    ),
}


def fault_text(message: str, *, unit: str) -> str:
    """Return an error of `read_order` for people; sizes in the unit in which they were typed."""
    for pattern, text in PATTERNS.items():
        if match := re.fullmatch(pattern, message):
            groups = match.groupdict()
            if groups.get("unit") == "cm" and unit == "mm":
                groups |= {"most": number_format(LARGEST_MM, force_grouping=True), "unit": unit}
            return _(text) % groups
    return _(message)


@dataclass(frozen=True)
class DraftFault:
    """A fault of a field, or of a cell if it has a row; rows count from 0."""

    field: str
    message: str
    row: int | None = None
    cell: str = ""  # of the sheet, if the fault is only there


class InvalidDraft(ValueError):
    """Why a draft is not an order yet; `beyond` further faults are not listed."""

    def __init__(self, faults: list[DraftFault], beyond: int = 0) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults, self.beyond = faults, beyond


def place_of(path: str) -> tuple[int | None, str]:
    """Return the part and the column that a path of an order names, or None and the field."""
    first, _dot, rest = path.partition(".")
    number, _dot, field = rest.partition(".")
    if first == "parts" and number.isdecimal():
        return int(number), CELLS.get(field, field)
    return None, CELLS.get(path, path)


class TypedOrder:
    def __init__(self, content: Mapping[str, Any]) -> None:
        self.fields: dict[str, str] = {name: content.get("fields", {}).get(name, "").strip() for name in FIELDS}
        self.unit: str = content.get("unit", "mm")
        self.rows: list[Mapping[str, str]] = content.get("rows", [])
        # The row of each part; empty rows are skipped.
        self.numbers = [number for number, row in enumerate(self.rows) if any(map(str.strip, row.values()))]
        self.sheet_faults = [
            DraftFault("", fault["message"], cell=fault["cell"]) for fault in content.get(SHEET_FAULTS, [])
        ]
        self._unread: dict[str, str] = {}

    @property
    def mode_is_given(self) -> bool:
        return bool(self.fields["opti_mode"])

    def read(self, rules: Rules) -> Order:
        try:
            order = read_order(self._body(rules), default_mode=rules.opti_mode_default)
        except InvalidOrder as invalid:
            raise self.explain(invalid) from None
        if self.sheet_faults:
            raise InvalidDraft(self.sheet_faults)
        return order

    def check(self, rules: Rules) -> Order:
        """Return the order; InvalidDraft also names parts that are larger than the plate."""
        order = self.read(rules)
        try:
            refuse_uncuttable(order, rules)
        except InvalidOrder as invalid:
            raise self.explain(invalid) from None
        return order

    def explain(self, invalid: InvalidOrder) -> InvalidDraft:
        faults = [self._fault(error["field"], error["message"]) for error in invalid.errors]
        return InvalidDraft(self.sheet_faults + faults, invalid.count - len(faults))

    def _fault(self, path: str, message: str) -> DraftFault:
        message = self._unread.get(path) or fault_text(message, unit=self.unit)
        part, field = place_of(path)
        return DraftFault(field, message, None if part is None else self.numbers[part])

    def _body(self, rules: Rules) -> dict[str, object]:
        names = ("order_id", "customer_phone", "customer_snapshot_name", "opti_mode", "priority", "due_on", "saw")
        body: dict[str, Any] = {name: self.fields[name] for name in names if self.fields[name]}
        if revision := self.fields["revision"]:
            body["revision"] = self._number("revision", revision)
        if sides := {name: self.fields[name] for name in ORDER_FIELDS if self.fields[name]}:
            paths = {name: ORDER_FIELDS[name] for name in sides}
            body["plate_size"] = {
                path.partition(".")[2]: self._number(path, sides[name]) for name, path in paths.items()
            }
        body["parts"] = [dict(self._part(part, number, rules)) for part, number in enumerate(self.numbers)]
        return body

    def _part(self, part: int, number: int, rules: Rules) -> Iterator[tuple[str, Any]]:
        texts = {name: self.rows[number].get(name, "").strip() or EMPTY.get(name, "") for name in COLUMNS}
        texts["id"] = texts["id"] or f"p{number + 1}"
        texts["part_type"] = PART_TYPES.get(fold(texts["part_type"]), texts["part_type"])
        for column, typed in texts.items():
            name = PART_FIELDS.get(column, column)
            path = f"parts.{part}.{name}"
            if typed and column in NUMBERS:
                value = self._number(path, typed)
                is_size = column in PART_FIELDS and isinstance(value, Decimal)
                yield name, value * UNITS[self.unit] if is_size else value
            elif column in EDGES and texts["part_type"] != "ARKALIK":  # its edges are removed, whatever they are
                yield name, self._edge(path, typed, rules)
            elif typed:
                yield name, typed

    def _edge(self, path: str, typed: str, rules: Rules) -> object:
        """Return the edge as the rules call it. An unknown edge becomes a number, which the order refuses."""
        try:
            edge = read_edge(typed, rules)
        except ValueError as error:
            self._unread[path] = str(error)
            return 0
        if isinstance(edge, Marked):
            names = ", ".join(name for name, mapped in rules.edge_mapping.items() if mapped is not None)
            self._unread[path] = _("Which edge band? The rules have: %(known)s.") % {"known": names}
            return 0
        return edge

    def _number(self, path: str, typed: str) -> Any:
        """Return a number. Other text stays as it is: the order refuses it, and the fault says why."""
        try:
            return read_number(typed)
        except ValueError as error:
            self._unread[path] = str(error)
            return typed
