"""The fonts a page may use: the bundled ones, and those in the operator's folders (KILIT_PDF_FONTS).

Fonts of the machine are not used, so that all machines give the same bytes. Chromium prints a box for a character that
no font has, without a warning. Which characters a font has is read from its table `cmap`, which lists them in segments
of 16-bit codes (format 4) or in groups of any codes (format 12). Chromium reads one of these, too; the other formats
are historical.
"""

import hashlib
import struct
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from django.conf import settings

from kilit.files import write_atomically

BUNDLED = Path(__file__).parent / "typefaces"
KINDS = (".ttf", ".otf", ".ttc")
CONFIGURATION = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
{folders}
  <cachedir>{cache}</cachedir>
  <match target="pattern">
    <edit name="family" mode="append_last"><string>Inter</string><string>DejaVu Sans</string></edit>
  </match>
  <match target="font">
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="embeddedbitmap" mode="assign"><bool>false</bool></edit>
  </match>
</fontconfig>
"""
COLLECTION = b"ttcf"
# Characters without a shape of their own: spaces, controls, joiners; and the selectors of variants.
SHAPELESS = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
SELECTORS = frozenset(chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))


def folders() -> list[Path]:
    return [BUNDLED, *(Path(folder) for folder in settings.PDF_FONTS)]


def font_files() -> list[Path]:
    """Return every font file, in the same order on every machine."""
    return [path for folder in folders() for path in fonts_in(folder)]


def fonts_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in KINDS and path.is_file()]


@cache
def fonts_digest() -> str:
    """Hash the fonts once per process: the browser does not notice new fonts either."""
    digests = [hashlib.sha256(path.read_bytes()).digest() for path in font_files()]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def configuration() -> Path:
    """Return a fonts.conf for the browser. It is replaced atomically, because workers start at the same time."""
    folder = Path(settings.KILIT_VAR) / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    elements = "\n".join(f"  <dir>{escape(str(path))}</dir>" for path in folders())
    text = CONFIGURATION.format(folders=elements, cache=escape(str(folder / "cache")))
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.conf"
    if not path.is_file() or path.read_text() != text:
        write_atomically(path, text.encode())
    return path


def unprintable(text: str) -> str:
    if text.isascii():
        return ""
    return "".join(sorted(letter for letter in set(unicodedata.normalize("NFC", text)) if not _is_printable(letter)))


def _is_printable(character: str) -> bool:
    if character in SELECTORS or unicodedata.category(character) in SHAPELESS:
        return True
    codes = _codes()
    place = bisect_right(codes, ord(character), key=lambda span: span.start)
    return place > 0 and ord(character) in codes[place - 1]


@cache
def _codes() -> tuple[range, ...]:
    """Read the fonts once per process: the browser does not notice new fonts either."""
    spans = sorted({(codes.start, codes.stop) for path in font_files() for codes in codes_of(path.read_bytes())})
    merged: list[range] = []
    for start, stop in spans:
        if merged and start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(stop, merged[-1].stop))
        else:
            merged.append(range(start, stop))
    return tuple(merged)


def codes_of(font: bytes) -> Iterator[range]:
    """Yield the characters of a font file, or of each font in a collection; nothing if the file is broken."""
    try:
        fonts = struct.unpack_from(f">{_number(font, 8, 4)}L", font, 12) if font[:4] == COLLECTION else (0,)
        for start in fonts:
            table = _table(font, start, b"cmap")
            for record in range(table + 4, table + 4 + 8 * _number(font, table + 2, 2), 8):
                yield from _subtable(font, table + _number(font, record + 4, 4))
    except struct.error:
        return


def _subtable(font: bytes, at: int) -> Iterator[range]:
    match _number(font, at, 2):
        case 4:
            yield from _segments(font, at)
        case 12:
            for group in range(at + 16, at + 16 + 12 * _number(font, at + 12, 4), 12):
                yield range(_number(font, group, 4), _number(font, group + 4, 4) + 1)


def _segments(font: bytes, at: int) -> Iterator[range]:
    count = _number(font, at + 6, 2) // 2
    ends, starts, deltas, offsets = (at + 14 + place for place in (0, 2 * count + 2, 4 * count + 2, 6 * count + 2))
    for place in range(0, 2 * count, 2):
        start, end = _number(font, starts + place, 2), _number(font, ends + place, 2)
        delta, offset = _number(font, deltas + place, 2), _number(font, offsets + place, 2)
        if not offset:
            without = -delta % 0x10000  # the code whose glyph would be number 0, the box
            yield from (range(start, min(end + 1, without)), range(max(start, without + 1), end + 1))
            continue
        for code in range(start, end + 1):
            if _number(font, offsets + place + offset + 2 * (code - start), 2):
                yield range(code, code + 1)


def _table(font: bytes, start: int, name: bytes) -> int:
    for record in range(start + 12, start + 12 + 16 * _number(font, start + 4, 2), 16):
        if font[record : record + 4] == name:
            return _number(font, record + 8, 4)
    raise struct.error(f"no table {name!r}")


def _number(font: bytes, at: int, size: int) -> int:
    return int(struct.unpack_from(">H" if size == 2 else ">L", font, at)[0])
