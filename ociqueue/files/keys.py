"""Source keys for lines of a CSV file that have none, so that importing a file again finds its conversions.

A line is known by its conversion name and click id, not by its time: a corrected time must not be a second conversion.
A click can convert more than once, so a key ends in a number, and of the lines with one name and click id

1. a line with the time of a stored row is that row;
2. the next lines are the rows that are left: the same conversions with other times, which the import reports;
3. lines for which no row is left are new, each with the next free number. Lines with the same time are one conversion,
   as they are to Google.

So a click has as many conversions as the file with the most of them, and the order of lines does not matter. All lines
of the file are read before the first is stored (`kilit.csv.index`).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

from django.utils.translation import gettext as _

from kilit.csv.index import MOST_LINES, LineKey, digest_of
from kilit.csv.reader import CsvLine
from kilit.lock.text import CONTROL_CHARS
from kilit.masking import IDENTIFIERS
from ociqueue.models import Conversion, Site
from ociqueue.models.import_job import LineIndex
from ociqueue.models.key import MADE_BY_IMPORT

KEY = "sourceKey"
SUBJECT = ("conversionName", *Conversion.CLICK_IDS)  # what a conversion is known by


class StoredKey(NamedTuple):
    key: str
    time: int


class LineKeys:
    def __init__(self, site: Site, index: LineIndex) -> None:
        self._site, self._index = site, index
        # The times of each subject of the batch, in the order of the file.
        self._times: dict[int, dict[int, None]] = {}

    def find(self, lines: Sequence[CsvLine]) -> list[str]:
        """Return the key of each line: its own, or the key of its stored or new conversion.

        If too many lines have the same click, their keys are empty.
        """
        unnamed = [line.cells for line in lines if KEY not in line.cells]
        self._read_times(unnamed)
        stored = self._stored(unnamed)
        keys = {_subject(cells): self._assign(cells, stored[_subject(cells)]) for cells in unnamed}
        return [line.cells.get(KEY) or keys[_subject(line.cells)].get(_time(line.cells), "") for line in lines]

    def _read_times(self, lines: Sequence[Mapping[str, str]]) -> None:
        lines_by_subject = self._index.find({_subject(cells) for cells in lines if _has_click(cells)})
        self._times = {subject: {key.value: None for key in keys} for subject, keys in lines_by_subject.items()}
        for cells in lines:
            subject = _subject(cells)
            if len(lines_by_subject.get(subject, ())) <= MOST_LINES:
                self._times.setdefault(subject, {})[_time(cells)] = None

    def _assign(self, cells: Mapping[str, str], rows: Sequence[StoredKey]) -> dict[int, str]:
        times = self._times[_subject(cells)]
        by_time = {row.time: row.key for row in rows}
        others = iter([row.key for row in rows if row.time not in times])
        taken = {row.key for row in rows}
        free = (key for key in _numbered(cells) if key not in taken)
        return {time: by_time.get(time) or next(others, "") or next(free) for time in times}

    def is_repeated(self, line: CsvLine) -> bool:
        """Return whether the file has several conversions of this line's click: alone it could be any of them."""
        return KEY not in line.cells and len(self._times[_subject(line.cells)]) > 1

    def _stored(self, lines: Sequence[Mapping[str, str]]) -> defaultdict[int, list[StoredKey]]:
        stored: defaultdict[int, list[StoredKey]] = defaultdict(list)
        if not lines:
            return stored
        names = _texts(lines, ["conversionName"])
        keys = self._site.conversion_keys.filter(action__in=names)
        # This finds a few rows too many, of other subjects.
        keys = keys.with_texts("click_id", _texts(lines, Conversion.CLICK_IDS))
        columns = (
            "source_key",
            "action",
            *(f"conversion__{name}" for name in (*Conversion.CLICK_IDS, "conversion_time")),
        )
        made_here = keys.filter(source_key__regex=f"^{MADE_BY_IMPORT}").order_by("pk")
        for key, *subject, time in made_here.values_list(*columns):
            stored[digest_of(subject)].append(StoredKey(key, digest_of([time.astimezone(UTC).isoformat()])))
        return stored


def line_key(line: CsvLine) -> LineKey | None:
    """Return what a line names, if it can be a conversion: its source key, or its click at its time."""
    cells = line.cells
    if KEY in cells:
        return LineKey(line.number, digest_of([KEY, cells.get("conversionName", ""), cells[KEY]]))
    return LineKey(line.number, _subject(cells), _time(cells)) if _has_click(cells) and not line.fault else None


def _has_click(cells: Mapping[str, str]) -> bool:
    return not cells.keys().isdisjoint(Conversion.CLICK_IDS)


def require_key(line: CsvLine) -> CsvLine:
    """Reject a line that only a person identifies: the same person may convert again, or the time be corrected."""
    has_key = KEY in line.cells or _has_click(line.cells)
    if has_key or line.cells.keys().isdisjoint(IDENTIFIERS):
        return line
    return replace(line, fault=_("A line without a click id needs a sourceKey: a person may convert more than once."))


def _texts(lines: Sequence[Mapping[str, str]], names: Sequence[str]) -> set[str]:
    """Return what the lines have in these columns, without what PostgreSQL would reject."""
    texts = {cells.get(name, "") for cells in lines for name in names} - {""}
    return {text for text in texts if not CONTROL_CHARS.search(text)}


def _subject(cells: Mapping[str, str]) -> int:
    return digest_of(cells.get(name, "") for name in SUBJECT)


def _time(cells: Mapping[str, str]) -> int:
    text = cells.get("conversionTime", "")
    with suppress(ValueError, OverflowError):  # validation reports an invalid time
        text = datetime.fromisoformat(text).astimezone(UTC).isoformat()
    return digest_of([text])


def _numbered(cells: Mapping[str, str]) -> Iterator[str]:
    subject = "\n".join(cells.get(name, "") for name in SUBJECT)
    digest = hashlib.sha256(subject.encode()).hexdigest()[:40]
    return (f"{MADE_BY_IMPORT}{digest}:{number}" for number in count(1))
