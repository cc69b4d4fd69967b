"""Reads one row as a part; both layouts share it."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from kilit.csv.numbers import read_number
from orchestrator.schemas.orders import EDGES, plain
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.grid import CellError, Unreadable, Value, coordinate
from orchestrator.sheets.head import shown
from orchestrator.sheets.headings import fold
from orchestrator.sheets.order_builder import OrderBuilder, as_number
from orchestrator.sheets.sheet_order import Origin

DASHES = frozenset(["", "-", "–", "—", "--"])
NONE = frozenset(["0", "yok", "hayir", "false", "yanlis", "no", "none", "bant yok"])
LONGEST = 64
THICKNESS = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*mm\b", re.IGNORECASE)


class Marked:
    """The cell says that there is an edge, but not which: the order's."""


MARKED = Marked()


def read_edge(value: Value | None, rules: Rules) -> str | Marked | None:
    """Return a name of the rules, MARKED, or None; ValueError says what is wrong."""
    if isinstance(value, Unreadable):
        raise CellError(value.message)
    if value is True:
        return MARKED
    text = plain(value) if isinstance(value, Decimal) else value or ""
    if len(text) > LONGEST:
        raise CellError(_("At most %(most)s characters.") % {"most": LONGEST})
    if text in DASHES or fold(text) in NONE:
        return None
    # Excel makes the number 40 of the name 040.
    names = {name.lstrip("0"): name for name in rules.edge_mapping if name.isdecimal()}
    names |= {fold(name): name for name in rules.edge_mapping}
    if fold(text) in names:
        return names[fold(text)]
    if match := THICKNESS.search(text):
        return _by_thickness(read_number(match[1]), rules)
    return _read_bare(text, rules)


def _read_bare(text: str, rules: Rules) -> str | Marked | None:
    try:
        number = read_number(text)
    except ValueError:
        return MARKED  # an x, a tick, a colour
    if number == 0:
        return None
    # Lists mark edges with 1. A band of 1 mm is written 1MM.
    return MARKED if number == 1 else _by_thickness(number, rules)


def _by_thickness(thickness: Decimal, rules: Rules) -> str:
    for name, mapped in rules.edge_mapping.items():
        if mapped == thickness:
            return name
    names = ", ".join(rules.edge_mapping)
    message = _("The rules have no edge band of %(thickness)s mm. They have: %(known)s.")
    raise CellError(message % {"thickness": plain(thickness), "known": names})


PART_TYPES = {"govde": "GOVDE", "body": "GOVDE", "arkalik": "ARKALIK", "backing": "ARKALIK"}
FREE = 0  # the grain of a part that does not say


class PartReader:
    def __init__(self, builder: OrderBuilder, columns: Mapping[str, int], units: Mapping[str, str]) -> None:
        self.builder, self.columns, self.units = builder, columns, units
        self._hints = missing_hints()
        self._notes = {"grain": _("where the sheet gives none: free"), "part_type": _("where the sheet gives none")}
        self._edges: dict[Value | None, str | None] = {}  # by what the cells say

    def read(self, row: int) -> dict[str, Any]:
        """Return the part of a row, as far as its cells say it."""
        part: dict[str, Any] = {"id": str(row)}
        if row in self.builder.grid.hidden_rows:  # by a filter, or to keep it for later: no one can know
            cell = coordinate(row, self.columns["length_cm"])
            self.builder.fault(cell, self.builder.path, _("This row is hidden. Show it, or delete it."))
        for name in ("id", "material_code", "color", "iidesc", "desc1"):
            if name in self.columns:
                self.builder.text(part, name, row, self.columns[name])
        for name in ("length_cm", "width_cm"):
            self.builder.number(part, name, row, self.columns[name], unit=self.units[name])
        self.builder.number(part, "quantity", row, self.columns["quantity"])
        self._grain(part, row)
        for side in EDGES:
            if side in self.columns:
                self._edge(part, side, row)
        return part

    def finish(self, part: dict[str, object], row: int) -> None:
        for name, hint in self._hints.items():
            if name not in part:
                cell = coordinate(row, self.columns[name]) if name in self.columns else ""
                self.builder.inherit(part, name, cell, hint)
        if "part_type" not in part:
            self._part_type(part, row)
        self.builder.add(part, row)

    def thickness(self, part: dict[str, object], value: Value, cell: str) -> None:
        try:
            self.builder.put(part, "thickness_mm", as_number(value, "mm"), cell)
        except ValueError as error:
            self.builder.reject(part, "thickness_mm", value, cell, str(error))

    def _grain(self, part: dict[str, object], row: int) -> None:
        column = self.columns.get("grain")
        value = self.builder.at(row, column)[0] if column else None
        if column and value is not None:
            self.builder.number(part, "grain", row, column)
        else:
            part["grain"] = FREE
            self.builder.source("grain", FREE, Origin.DEFAULT, note=self._notes["grain"])

    def _edge(self, part: dict[str, object], side: str, row: int) -> None:
        value, cell = self.builder.at(row, self.columns[side], across=True)
        if value not in self._edges:
            try:
                edge = read_edge(value, self.builder.rules)
                self._edges[value] = self._of_order() if isinstance(edge, Marked) else edge
            except ValueError as error:
                self.builder.reject(part, side, value if value is not None else "", cell, str(error))
                return
        if (edge_name := self._edges[value]) is not None:
            self.builder.put(part, side, edge_name, cell)

    def _of_order(self) -> str | None:
        """Return the order's edge, which marked cells mean; ValueError without an edge."""
        head, default = self.builder.head.find("edge"), self.builder.defaults.edge
        if not head and not default:
            message = _("Which edge band? Write it here, as 1MM, or for all in the rows above the parts, as BANT: 1MM.")
            raise CellError(message)
        if head and head.fault:
            raise CellError(head.fault)
        text = head.value if head else default
        edge = read_edge(text, self.builder.rules)
        if isinstance(edge, Marked):  # a 1 in a part's cell is a mark; of the order it is a thickness
            edge = read_edge(f"{text}mm", self.builder.rules)
        if isinstance(edge, Marked):
            raise CellError(_("%(text)s is not an edge band.") % {"text": text})
        if head:
            self.builder.source("edge", edge, Origin.CELL, head.cell, _("for marked edges"))
        else:
            self.builder.source("edge", edge, Origin.CALLER, note=_("for marked edges"))
        return edge

    def _part_type(self, part: dict[str, object], row: int) -> None:
        """Decide by the thickness: a backing has one of the rules' backing thicknesses, and no edges."""
        thickness = part.get("thickness_mm")
        is_backing = isinstance(thickness, Decimal) and thickness in self.builder.rules.backing_thicknesses
        part["part_type"] = "ARKALIK" if is_backing else "GOVDE"
        edge = next((side for side in EDGES if part.get(side)), None)
        if is_backing and edge:
            cell = self.builder.cells.get(f"{self.builder.path}.{edge}", "")
            message = _("A part of %(thickness)s mm is a backing, which has no edge bands. Write GOVDE, or clear this.")
            self.builder.fault(cell, f"{self.builder.path}.part_type", message % {"thickness": shown(thickness)})
        elif is_backing:
            self.builder.source(
                "part_type", "ARKALIK", Origin.RULES, note=_("for %(thickness)s mm") % {"thickness": shown(thickness)}
            )
        else:
            self.builder.source("part_type", "GOVDE", Origin.DEFAULT, note=self._notes["part_type"])


def read_part_type(value: Value | None) -> str | None:
    if value is None or isinstance(value, (bool, Decimal, Unreadable)):
        return None
    return next((PART_TYPES[word] for word in fold(value).split() if word in PART_TYPES), None)


def missing_hints() -> dict[str, str]:
    """Return, for each field that can stand in several places, where it could stand."""
    return {
        "material_code": _(
            "The material is missing. Write it above the parts, as MALZEME: MAT-01, or give it yourself."
        ),
        "color": _("The colour is missing. Write it above the parts, as RENK: Beyaz, or give it yourself."),
        "thickness_mm": _("The thickness is missing. Write it here or above the parts, as 18MM, or give it yourself."),
    }
