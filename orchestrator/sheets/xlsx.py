"""Reads XLSX files: the values of cells as Excel saved them, merged areas, and which sheets are hidden.

Their XML is read with limits on size and elements, and without a tree, so that memory is bounded.
"""

import posixpath
import re
from collections.abc import Mapping
from decimal import Decimal
from io import BytesIO
from typing import Any
from xml.parsers.expat import ParserCreate
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from django.utils.translation import gettext as _

from orchestrator.sheets.grid import MOST_CELLS, Grid, Unreadable, Value, clean_text, coordinate, position, too_large

MOST_UNPACKED = 30 * 1024**2  # of the parts that are read
MOST_ELEMENTS = 1_000_000
MOST_ENTRIES = 2_000
ENCRYPTED = 0x1
# Excel writes the control characters of a text in this way.
ESCAPED = re.compile(r"_x(000[9ADad]|005[Ff])_")
AREA = re.compile("[A-Z]+[0-9]+:[A-Z]+[0-9]+")
MOST_SHEETS, MOST_AREAS, MOST_FORMATS = 100, 20_000, 10_000
DIGITS = 15  # of a number in Excel; further ones are noise of binary fractions
DATE_FORMATS = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])  # that Excel numbers itself


class XmlHandler:
    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        pass

    def end(self, tag: str, text: str) -> None:
        pass


class XmlParts:
    """The XML parts of an archive. The sizes in its directory are checked first; zipfile never extracts more."""

    def __init__(self, content: bytes) -> None:
        self.archive = ZipFile(BytesIO(content))
        self.entries = {entry.filename: entry for entry in self.archive.infolist()}
        self.unpacked = self.elements = 0
        if len(self.entries) > MOST_ENTRIES:
            raise too_large()

    def read(self, name: str, handler: XmlHandler) -> None:
        """Pass every element to a handler; names come without their prefix."""
        entry = self.entries[name]
        self.unpacked += entry.file_size
        if self.unpacked > MOST_UNPACKED:
            raise too_large()
        if entry.flag_bits & ENCRYPTED or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in another way")
        # Whole, not in chunks: expat begins a long token again with each of them.
        self._parser(handler).Parse(self.archive.read(entry), True)  # noqa: FBT003 - takes no keyword

    def _parser(self, handler: XmlHandler) -> Any:
        parser, text = ParserCreate(), list[str]()

        def start(tag: str, attributes: dict[str, str]) -> None:
            self.elements += 1
            if self.elements > MOST_ELEMENTS:
                raise too_large()
            text.clear()
            handler.start(tag.rpartition(":")[2], attributes)

        def end(tag: str) -> None:
            handler.end(tag.rpartition(":")[2], "".join(text))
            text.clear()

        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = text.append
        parser.StartDoctypeDeclHandler = _refuse_entities
        return parser


def _refuse_entities(*_declared: object) -> None:
    raise ValueError("a document type is not allowed, and so no entity can be")


def read_xlsx(content: bytes) -> list[Grid]:
    """Return the sheets of a workbook; any exception means that the file is damaged."""
    parts = XmlParts(content)
    root = _Relations(parts, "")
    book = _Workbook(parts, root.of_type("officeDocument"))
    strings = _SharedStrings(parts, book.relations.of_type("sharedStrings"))
    styles = _Styles(parts, book.relations.of_type("styles"))
    if len(book.sheets) > MOST_SHEETS or len(styles.formats) > MOST_FORMATS:
        raise too_large()
    grids: list[Grid] = []
    for name, state, relation in book.sheets:
        most = MOST_CELLS - sum(len(row) for grid in grids for row in grid.rows.values())
        sheet = _Sheet(strings.texts, styles.is_date, is_from_1904=book.is_from_1904, most=most)
        if (path := book.relations.paths.get(relation, "")) in parts.entries and "worksheet" in path:
            parts.read(path, sheet)
        grid = Grid(name, sheet.rows, is_hidden=state != "visible", hidden_rows=sheet.hidden)
        grid.merged = _spread(sheet.areas, last=max(sheet.rows, default=0))
        grids.append(grid)
    return grids


def _spread(areas: list[str], *, last: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the first cell for each cell of the merged areas, as far down as there are values."""
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    if len(areas) > MOST_AREAS:
        raise too_large()
    for area in filter(AREA.fullmatch, areas):
        (top, left), (bottom, right) = map(position, area.split(":"))
        for row in range(top, min(bottom, last) + 1):
            for column in range(left, right + 1):
                merged[row, column] = (top, left)
                if len(merged) > MOST_CELLS:
                    raise too_large()
    return merged


class _Relations(XmlHandler):
    def __init__(self, parts: XmlParts, owner: str) -> None:
        folder, name = posixpath.split(owner)
        self.folder, self.paths, self.types = folder, dict[str, str](), dict[str, str]()
        if (path := posixpath.join(folder, "_rels", f"{name}.rels")) in parts.entries:
            parts.read(path, self)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "Relationship":
            target = attributes["Target"]
            path = posixpath.normpath(target if target.startswith("/") else posixpath.join(self.folder, target))
            self.paths[attributes["Id"]] = path.lstrip("/")
            self.types.setdefault(attributes["Type"].rpartition("/")[2], path.lstrip("/"))

    def of_type(self, name: str) -> str:
        return self.types.get(name, "")


class _Workbook(XmlHandler):
    def __init__(self, parts: XmlParts, path: str) -> None:
        self.sheets: list[tuple[str, str, str]] = []  # name, state, id of the relation
        self.is_from_1904 = False  # Excel for Mac counted days from there
        self.relations = _Relations(parts, path)
        parts.read(path, self)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "workbookPr":
            self.is_from_1904 = attributes.get("date1904") in ("1", "true")
        elif tag == "sheet":
            relation = next((value for name, value in attributes.items() if name.endswith(":id")), "")
            self.sheets.append((attributes["name"], attributes.get("state", "visible"), relation))


class _SharedStrings(XmlHandler):
    def __init__(self, parts: XmlParts, path: str) -> None:
        self.texts: list[str] = []
        self._runs: list[str] = []
        self._is_phonetic = False
        if path in parts.entries:
            parts.read(path, self)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "si":
            self._runs = []
        elif tag == "rPh":
            self._is_phonetic = True

    def end(self, tag: str, text: str) -> None:
        if tag == "t" and not self._is_phonetic:
            self._runs.append(text)
        elif tag == "rPh":
            self._is_phonetic = False
        elif tag == "si":
            self.texts.append("".join(self._runs))


class _Styles(XmlHandler):
    def __init__(self, parts: XmlParts, path: str) -> None:
        self.is_date: list[bool] = []
        self.formats: dict[int, bool] = dict.fromkeys(DATE_FORMATS, True)
        self._is_of_cells = False
        if path in parts.entries:
            parts.read(path, self)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        from openpyxl.styles.numbers import is_date_format

        if tag == "numFmt":
            self.formats[int(attributes["numFmtId"])] = bool(is_date_format(attributes["formatCode"]))
        elif tag == "cellXfs":
            self._is_of_cells = True
        elif tag == "xf" and self._is_of_cells:
            self.is_date.append(self.formats.get(int(attributes.get("numFmtId", 0)), False))

    def end(self, tag: str, text: str) -> None:
        if tag == "cellXfs":
            self._is_of_cells = False


class _Sheet(XmlHandler):
    def __init__(self, strings: list[str], is_date: list[bool], *, is_from_1904: bool, most: int) -> None:
        self.rows: dict[int, dict[int, Value]] = {}
        self.areas: list[str] = []
        self.hidden: set[int] = set()
        self._strings, self._is_date, self._is_from_1904, self._most = strings, is_date, is_from_1904, most
        self._row = self._column = 0
        self._cell: Mapping[str, str] = {}
        self._saved: str | None = None
        self._inline: list[str] = []
        self._is_formula = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "c":
            self._cell, self._saved, self._inline, self._is_formula = attributes, None, [], False
            self._row, self._column = position(attributes.get("r", coordinate(self._row, self._column + 1)))
        elif tag == "row":
            self._row, self._column = int(attributes.get("r", self._row + 1)), 0
            if attributes.get("hidden") in ("1", "true"):
                self.hidden.add(self._row)
        elif tag == "f":
            self._is_formula = True
        elif tag == "mergeCell":
            self.areas.append(attributes["ref"])

    def end(self, tag: str, text: str) -> None:
        if tag == "v":
            self._saved = text
        elif tag == "t":
            self._inline.append(text)
        elif tag == "c" and (value := self._value()) is not None:
            self.rows.setdefault(self._row, {})[self._column] = value
            self._most -= 1
            if self._most < 0:
                raise too_large()

    def _value(self) -> Value | None:
        kind, saved = self._cell.get("t", "n"), self._saved or ""
        if kind in ("s", "str", "inlineStr"):
            text = self._strings[int(saved)] if kind == "s" and saved else saved or "".join(self._inline)
            return clean_text(ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)) or None
        if not saved:
            return _without_result() if self._is_formula else None
        if kind == "b":
            return saved == "1"
        if kind == "e":
            return Unreadable(saved, _("The formula's result is the error %(error)s.") % {"error": saved})
        style = int(self._cell.get("s", 0))
        if kind == "d" or (style < len(self._is_date) and self._is_date[style]):
            return _date(saved, is_from_1904=self._is_from_1904)
        number = Decimal(format(float(saved), f".{DIGITS}g"))
        return number if number.is_finite() else Unreadable(saved, _("Not a number."))


def _without_result() -> Unreadable:
    return Unreadable("", _("This formula has no saved result. Open the file in Excel and save it, or paste values."))


def _date(saved: str, *, is_from_1904: bool) -> Unreadable:
    from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

    try:
        text = (
            from_excel(float(saved), MAC_EPOCH if is_from_1904 else WINDOWS_EPOCH).isoformat().removesuffix("T00:00:00")
        )
    except (ValueError, OverflowError, AttributeError):
        text = saved
    message = _("This is a date (%(date)s), not a number: Excel makes a date of 3.12. Type it again as a number.")
    return Unreadable(text, message % {"date": text})
