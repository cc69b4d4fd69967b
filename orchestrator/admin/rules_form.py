"""The rules as a form of fields and rows: read from the rules' file, and composed into a new version of it.

What is not in the form stays as the file has it. The rules themselves say what is wrong; here it finds its field.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from kilit.api.input_model import KEY, format_error
from kilit.api.json_reader import parse_json
from kilit.csv.numbers import AMBIGUOUS
from kilit.lock.text import strip_control_chars
from orchestrator.admin.rules_fields import SAW_SIZES, SECTIONS, TABLES, YES, RuleCell, RuleTable
from orchestrator.drafts.typed import fault_text
from orchestrator.planning.rules import InvalidRules, read_new_rules
from orchestrator.planning.rules_history import rules_text
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import ANY

LONGEST = 400
MOST_ROWS = 500
BOARD = re.compile(r"(?P<material>.+) (?P<thickness>[0-9.]+)mm")
Path = tuple[str | int, ...]


Row = dict[str, RuleCell]


def _shown(value: object) -> str:
    """Return a value as its reader types it; a number that could be a thousand gets a zero at its end."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return "" if value is None else str(value)
    text = number_format(plain(Decimal(value)), force_grouping=False, use_l10n=True)
    return f"{text}0" if AMBIGUOUS.fullmatch(text) else text


def _new(cell: RuleCell, value: str = "") -> RuleCell:
    return RuleCell(cell.name, cell.label, cell.is_number, cell.choices, cell.hint, value)


@dataclass
class RulesRows:
    """What the form shows: the fields by their paths, and the rows of each table."""

    fields: dict[str, RuleCell]
    rows: dict[str, list[Row]]
    faults: list[str] = field(default_factory=list)  # that belong to no field

    @classmethod
    def of(cls, text: str) -> "RulesRows":
        content: Any = parse_json(text.encode())
        prices = content.get("prices") or {}
        backing = {Decimal(each) for each in content["backingThicknesses"]}
        trims = {Decimal(name): trim for name, trim in content["trimByThickness"].items()}
        edges, priced = content["edgeMapping"], prices.get("edgePerMetre") or {}
        boards = [(BOARD.fullmatch(name), name, price) for name, price in (prices.get("boardPerM2") or {}).items()]
        values = {
            "boards": [(*(found.groups() if found else (name, "")), price) for found, name, price in boards],
            "edges": [(name, edges.get(name), priced.get(name)) for name in dict.fromkeys([*edges, *priced])],
            "thicknesses": [(each, trims.get(each), YES * (each in backing)) for each in sorted({*trims, *backing})],
            "saws": [
                (
                    saw["name"],
                    *map(saw.get, SAW_SIZES),
                    ", ".join(saw.get("materials", [])),
                    YES * saw.get("byHand", False),
                )
                for saw in content.get("saws", [])
            ],
        }
        content["stock"] = {**content["stock"], "isKept": YES} if content.get("stock") is not None else {}
        return cls(
            {cell.name: _new(cell, _shown(_at(content, cell.name))) for cell in _cells()},
            {table.name: [_row(table, map(_shown, row)) for row in values[table.name]] for table in TABLES},
        )

    @classmethod
    def typed(cls, posted: QueryDict) -> "RulesRows":
        def clean(text: str) -> str:
            return strip_control_chars(text).strip()[:LONGEST]

        rows = {}
        for table in TABLES:
            lists = [posted.getlist(f"{table.name}-{cell.name}")[:MOST_ROWS] for cell in table.columns]
            typed = [_row(table, map(clean, row)) for row in zip(*lists, strict=False)]
            removed = posted.get("remove", "")
            rows[table.name] = [
                row
                for number, row in enumerate(typed)
                if removed != f"{table.name}-{number}" and any(cell.value for cell in row.values())
            ]
        return cls({cell.name: _new(cell, clean(posted.get(cell.name, ""))) for cell in _cells()}, rows)

    def sections(self) -> list[tuple[StrOrPromise, list[RuleCell]]]:
        return [(section.title, [self.fields[cell.name] for cell in section.fields]) for section in SECTIONS]

    def tables(self, *, empty_rows: int = 1) -> list[tuple[RuleTable, list[list[RuleCell]]]]:
        """Return the tables, each with empty rows at its end: what is typed there is added."""
        return [
            (
                table,
                [[*row.values()] for row in [*self.rows[table.name], *(_row(table) for _number in range(empty_rows))]],
            )
            for table in TABLES
        ]

    @property
    def fault_count(self) -> int:
        cells = [*self.fields.values(), *(cell for rows in self.rows.values() for row in rows for cell in row.values())]
        return len(self.faults) + sum(bool(cell.error) for cell in cells)

    def compose(self, text: str) -> str:
        """Return a new version of the rules' text; each fault is beside its field, and `fault_count` says whether."""
        return _Composition(self).into(text)


def _cells() -> Iterator[RuleCell]:
    return (cell for section in SECTIONS for cell in section.fields)


def _row(table: RuleTable, values: Any = ()) -> Row:
    given = list(values) or [""] * len(table.columns)
    return {cell.name: _new(cell, value) for cell, value in zip(table.columns, given, strict=True)}


def _at(content: Mapping[str, Any], path: str) -> object:
    section, dot, name = path.partition(".")
    return (content.get(section) or {}).get(name) if dot else content.get(section)


class _Composition:
    def __init__(self, form: RulesRows) -> None:
        self.form = form
        self.places: dict[Path, RuleCell] = {}  # the field of each path of the rules

    def into(self, text: str) -> str:
        content: Any = parse_json(text.encode())
        content |= self._thicknesses()
        content["saws"] = self._saws()
        boards, (content["edgeMapping"], bands) = self._boards(), self._edges()
        sections: dict[str, dict[str, Any]] = {"prices": {"boardPerM2": boards, "edgePerMetre": bands}}
        for path, cell in self.form.fields.items():
            section, dot, name = path.partition(".")
            self.places[(section, name) if dot else (section,)] = cell
            self.places.setdefault((section,), cell)
            if dot:
                sections.setdefault(section, {})[name] = cell.read()
            elif section in content or cell.value not in ("", cell.choices[0][0]):
                content[section] = cell.value
        self._put(sections, content)
        if not content["saws"]:
            del content["saws"]
        new = rules_text(content, before=text)
        try:
            read_new_rules(new.encode())
        except InvalidRules as invalid:
            self._place(invalid)
        return new

    def _put(self, sections: Mapping[str, dict[str, Any]], content: dict[str, Any]) -> None:
        is_stock_kept = sections["stock"].pop("isKept")
        for section, values in sections.items():
            given = {**(content.get(section) or {}), **values}
            if given := {name: value for name, value in given.items() if value not in (None, {})}:
                content[section] = given
            elif section == "stock" and is_stock_kept:
                content[section] = {}
            elif section != "cutting":  # which offers the built-in optimiser, also without any value
                content.pop(section, None)
        if "stock" in content and not is_stock_kept:
            self._drop_stock(content)

    def _drop_stock(self, content: dict[str, Any]) -> None:
        del content["stock"]
        for name, cell in self.form.fields.items():
            if name.startswith("stock.") and cell.value:
                cell.error = _("Without a stock this has no effect: clear it, or keep a stock.")

    def _place(self, invalid: InvalidRules) -> None:
        for path, error in invalid.errors:
            cell = self.places.get(tuple(step for step in path if step != KEY))
            if cell is None:
                self.form.faults.append(format_error(error))
            elif not cell.error:
                cell.error = fault_text(error["message"], unit="mm")

    def _thicknesses(self) -> dict[str, Any]:
        trims, backing = dict[str, Any](), list[Any]()
        for row in self.form.rows["thicknesses"]:
            thickness, trim = row["thickness"], row["trim"]
            if not (key := self._key(thickness, {*trims, *map(plain, backing)})):
                continue
            if trim.value:
                trims[key] = trim.read()
                self.places["trimByThickness", key] = thickness if trim.error else trim
            if row["backing"].value:
                self.places["backingThicknesses", len(backing)] = thickness
                backing.append(thickness.read())
            elif not trim.value:
                trim.error = _("Fill this in.")
        return {"trimByThickness": trims, "backingThicknesses": backing}

    def _edges(self) -> tuple[dict[str, Any], dict[str, Any]]:
        mapping, prices = dict[str, Any](), dict[str, Any]()
        for row in self.form.rows["edges"]:
            name, mm, price = row["name"], row["mm"], row["price"]
            if not (key := self._key(name, {*mapping, *prices})):
                continue
            if key != ANY:
                mapping[key] = mm.read()
                self.places["edgeMapping", key] = mm
            if price.value:
                prices[key] = price.read()
                self.places["prices", "edgePerMetre", key] = price
                if key != ANY and not mm.value:
                    price.error = _("No band, so no price.")
        return mapping, prices

    def _boards(self) -> dict[str, Any]:
        prices: dict[str, Any] = {}
        for row in self.form.rows["boards"]:
            material, thickness, price = row["material"], row["thickness"], row["price"]
            millimetres = thickness.read()
            of_one = f" {plain(millimetres)}mm" if millimetres is not None else ""
            if not (key := self._key(material, prices, of_one)):
                continue
            prices[key] = price.read()
            self.places["prices", "boardPerM2", key] = price
            if not price.value:
                price.error = _("Fill this in.")
        return prices

    def _saws(self) -> list[dict[str, Any]]:
        saws = list[dict[str, Any]]()
        for row in self.form.rows["saws"]:
            if not self._key(row["name"], [saw["name"] for saw in saws]):
                continue
            place: Path = ("saws", len(saws))
            self.places.setdefault(place[:1], row["byHand"])
            saw = {name: row[name].read() for name in ("name", *SAW_SIZES)}
            saw["materials"] = [text.strip() for text in row["materials"].value.split(",") if text.strip()] or None
            saw["byHand"] = bool(row["byHand"].value) or None
            saws.append({name: value for name, value in saw.items() if value is not None})
            self.places |= {(*place, name): cell for name, cell in row.items()}
            self.places |= {
                (*place, "materials", number): row["materials"] for number in range(len(saw["materials"] or []))
            }
        return saws

    def _key(self, cell: RuleCell, known: Container[str], more: str = "") -> str:
        """Return what a row is known by in the rules, or "" with a fault beside its field."""
        value = cell.read()
        if value is None:
            cell.error = cell.error or _("Fill this in.")
            return ""
        key = (plain(value) if isinstance(value, Decimal) else value) + more
        if key in known:
            cell.error = _("%(name)s is in another row, too.") % {"name": key}
            return ""
        return str(key)
