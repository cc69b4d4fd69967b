"""The text of a CSV file: its encoding, its records, and its delimiter.

A file is read only if its encoding is certain; half of a file must not be stored because the other half cannot be read.
It is read batch by batch, each from the place that the one before it reached, and never held as a whole.
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import IO, NamedTuple

from django.utils.translation import gettext as _

# Every field has a bound, so a longer line is invalid, and no file can make us hold more than this.
LONGEST_LINE = 16_384
MOST_OF_LONG_LINE = 4 * (LONGEST_LINE + 2)  # bytes
CHUNK = 1 << 20
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
WITH_MARK = {"utf-8": "utf-8-sig", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}
# Turkish Windows without a byte order mark. Any bytes are some text in cp1254; these are what Turkish is written with.
TURKISH = "cp1254"
NOT_TURKISH = re.compile(r"[^\x00-\x7fçğıöşüÇĞİÖŞÜâîûÂÎÛ€‘’“”–—…\xa0]")
SEPARATOR_LINE = re.compile(
    r"sep=([,;\t])[^\S\r\n]*(\r?\n|\r|\Z)", re.IGNORECASE
)  # Excel writes and reads it, but never shows it
DELIMITERS = (",", ";", "\t")
PARAMETERS = re.compile(r'"?Parameters:')  # Google's templates have such a line above the header
ABOVE_HEADER = re.compile(r'"?#|[",;\s]*$')  # and instructions, which need not be removed
QUOTED = re.compile(r'"[^"]*"')
SAMPLE = 50  # lines that decide the delimiter of a file that may have no header
# A comma may be a decimal comma, so the others are looked for first.
SAMPLED_DELIMITERS = (";", "\t", ",")


class CsvError(ValueError):
    """Why a file cannot be read at all; the message goes to the user."""


class FileMisread(CsvError):
    """The lines read differ from the bytes of the file: a fault of ours."""


class Record(NamedTuple):
    number: int  # of its first line in the file
    text: str
    next: "FilePlace"  # where the record after it begins


class FilePlace(NamedTuple):
    offset: int  # in bytes
    number: int  # of its line


START = FilePlace(0, 1)


class PhysicalLine(NamedTuple):
    text: str  # with "\n" at its end, however the file ends its lines
    size: int  # in bytes


class SmallTable(NamedTuple):
    rows: Iterator[list[str]]  # csv.Error says why one cannot be read
    encoding: str
    delimiter: str


class TableHeader(NamedTuple):
    delimiter: str
    cells: list[str]
    parameters: str = ""  # of Google's templates
    encoding: str = ""
    below: FilePlace = START  # where the first record begins


def read_table_header(stream: IO[bytes], *, encoding: str = "") -> TableHeader:
    """Return the header of a file. The encoding is found from the whole file, unless it is known."""
    encoding = encoding or find_encoding(stream)
    _marked, offset = _byte_order_mark(stream)
    delimiter = parameters = ""
    for number, (text, size) in enumerate(_physical_lines(stream, encoding, offset), start=1):
        offset += size
        if match := SEPARATOR_LINE.match(text):
            delimiter = match[1]
        elif match := PARAMETERS.match(text):
            parameters = text[match.end() :]
        elif not ABOVE_HEADER.match(text):
            header = _read_header(text, delimiter, parameters)
            return header._replace(encoding=encoding, below=FilePlace(offset, number + 1))
    raise CsvError(_("The file is empty."))


def read_batch(stream: IO[bytes], header: TableHeader, place: FilePlace, *, most: int) -> list[Record]:
    """Return the next records from a place on, wherever the stream stands; the last batch has fewer than `most`."""
    lines = _physical_lines(stream, header.encoding, place.offset)
    records = list(islice(_read_records(lines, header.delimiter, place), most))
    lines.close()
    reached = _compare_with_bytes(stream, header.encoding, place, records)
    if len(records) < most and reached.offset != stream.seek(0, io.SEEK_END):
        raise _misread(reached)
    return records


def _compare_with_bytes(stream: IO[bytes], encoding: str, place: FilePlace, records: list[Record]) -> FilePlace:
    """Return where records end; FileMisread if the bytes up to there are not these lines.

    Places are sums of sizes, so one wrong size, or a stream that someone moved, would make two lines into one.
    """
    for number, text, following in records:
        stream.seek(place.offset)
        is_cut = len(text) > LONGEST_LINE  # such a line is rejected, and may be longer than what memory holds
        size = following.offset - place.offset
        piece = stream.read(min(size, MOST_OF_LONG_LINE) if is_cut else size)
        read_again = piece.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
        count = 1 if is_cut else read_again.count("\n") + (not read_again.endswith("\n"))
        is_same = read_again.startswith(text) if is_cut else read_again == text
        if not is_same or number != place.number or following.number != number + count:
            raise _misread(place)
        place = following
    return place


def _misread(place: FilePlace) -> FileMisread:
    return FileMisread(_("From line %(line)s on, what was read is not what the file has.") % {"line": place.number})


def open_small_table(content: bytes) -> SmallTable:
    """Return the rows of a file that may have no header; CsvError or UnicodeError if it is no text.

    Excel's line `sep=;` is no row, as Excel does not show it.
    """
    stream = io.BytesIO(content)
    marked, _size = _byte_order_mark(stream)
    encoding = WITH_MARK[marked] if marked else find_encoding(stream, never=None)
    text = content.decode(encoding)
    if "\x00" in text:
        raise CsvError(_("The encoding of the file is not certain; save the file as “CSV UTF-8”."))
    named = SEPARATOR_LINE.match(text)
    delimiter = named[1] if named else _most_frequent_delimiter(text)
    rows = io.StringIO(text[named.end() :] if named else text, newline="")
    return SmallTable(csv.reader(rows, delimiter=delimiter), encoding, delimiter)


def _most_frequent_delimiter(text: str) -> str:
    sample = [QUOTED.sub("", line) for line in islice(filter(str.strip, text.splitlines()), SAMPLE)]
    counts = {delimiter: sum(delimiter in line for line in sample) for delimiter in SAMPLED_DELIMITERS}
    in_most = (delimiter for delimiter, count in counts.items() if count * 2 > len(sample))
    return next(in_most, None) or next((delimiter for delimiter, count in counts.items() if count), ";")


def _read_records(lines: Iterator[PhysicalLine], delimiter: str, place: FilePlace) -> Iterator[Record]:
    """Yield the records; a quote that is never closed costs one line."""
    ahead: deque[PhysicalLine] = deque()
    while first := ahead.popleft() if ahead else next(lines, None):
        text, added = first.text, list[PhysicalLine]()
        while _is_open(text, delimiter) and (more := _up_to_quote(ahead, lines, LONGEST_LINE - len(text))):
            added += more
            text += "".join(line.text for line in more)
        if added and _fault_of(text, delimiter):
            ahead.extendleft(reversed(added))
            text, added = first.text, []
        size = first.size + sum(line.size for line in added)
        following = FilePlace(place.offset + size, place.number + 1 + len(added))
        yield Record(place.number, text, following)
        place = following


def _is_open(text: str, delimiter: str) -> bool:
    return text.count('"') % 2 == 1 and _fault_of(text, delimiter) == "unexpected end of data"


def _up_to_quote(ahead: deque[PhysicalLine], lines: Iterator[PhysicalLine], most: int) -> list[PhysicalLine]:
    """Return the next lines up to one with a quote, which may end the cell, or an empty list if they are too long."""
    taken: list[PhysicalLine] = []
    while line := ahead.popleft() if ahead else next(lines, None):
        taken.append(line)
        most -= len(line.text)
        if '"' in line.text or most < 0:
            break
    if not taken or '"' not in taken[-1].text or most < 0:
        ahead.extendleft(reversed(taken))
        return []
    return taken


def _fault_of(text: str, delimiter: str) -> str:
    try:
        split_cells(text, delimiter)
    except csv.Error as error:
        return str(error)
    return ""


def split_cells(text: str, delimiter: str) -> list[str]:
    """Return the cells of a record; csv.Error says that a quote is misplaced or not closed."""
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])


def _read_header(text: str, delimiter: str, parameters: str) -> TableHeader:
    if "\x00" in text or len(text) > LONGEST_LINE:
        raise CsvError(_("This is not a text file with a header line; save the file as “CSV UTF-8”."))
    names = QUOTED.sub("", text)
    delimiter = delimiter or max(DELIMITERS, key=names.count)
    try:
        return TableHeader(delimiter, split_cells(text, delimiter), parameters)
    except csv.Error:
        raise CsvError(_("A quote in the header is not closed.")) from None


def find_encoding(stream: IO[bytes], *, never: re.Pattern[str] | None = NOT_TURKISH) -> str:
    """Return the encoding of a whole file, in which Turkish `never` has some characters.

    The stream is at its beginning again.
    """
    marked, size = _byte_order_mark(stream)
    if _can_decode(stream, marked or "utf-8", size):
        return marked or "utf-8"
    if not marked and _can_decode(stream, TURKISH, size, never=never):
        return TURKISH
    raise CsvError(_("The encoding of the file is not certain; save the file as “CSV UTF-8”."))


def _byte_order_mark(stream: IO[bytes]) -> tuple[str, int]:
    stream.seek(0)
    start = stream.read(max(map(len, BYTE_ORDER_MARKS)))
    stream.seek(0)
    return next(((name, len(mark)) for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), ("", 0))


def _can_decode(stream: IO[bytes], encoding: str, start: int, *, never: re.Pattern[str] | None = None) -> bool:
    stream.seek(start)
    try:
        for text in codecs.iterdecode(iter(partial(stream.read, CHUNK), b""), encoding):
            if never and never.search(text):
                return False
    except UnicodeError:
        return False
    finally:
        stream.seek(0)
    return True


def _physical_lines(stream: IO[bytes], encoding: str, offset: int) -> Generator[PhysicalLine]:
    """Yield each line; of a line that is too long only its beginning, which is enough to reject it."""
    stream.seek(offset)
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")  # line ends stay, because their bytes count
    try:
        while line := text.readline(LONGEST_LINE + 1):
            size, rest = len(line.encode(encoding)), line
            while len(rest) > LONGEST_LINE and not rest.endswith(("\n", "\r")):
                rest = text.readline(LONGEST_LINE + 1)
                size += len(rest.encode(encoding))
            ends = "\r\n" if line.endswith("\r\n") else "\r"
            yield PhysicalLine(f"{line.removesuffix(ends)}\n" if line.endswith(ends) else line, size)
    finally:
        # The caller closes the stream, and may have done so already.
        with suppress(ValueError):
            text.detach()
