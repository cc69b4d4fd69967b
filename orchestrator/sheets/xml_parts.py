"""Reads the XML inside an XLSX file with limits on size and elements, and without a tree, so that memory is bounded."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any, Protocol
from xml.parsers.expat import ParserCreate
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from orchestrator.sheets.grid import too_large

MOST_UNPACKED = 30 * 1024**2  # of the parts that are read
MOST_ELEMENTS = 1_000_000
MOST_ENTRIES = 2_000
ENCRYPTED = 0x1


class XmlHandler(Protocol):
    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str, text: str) -> None: ...


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
