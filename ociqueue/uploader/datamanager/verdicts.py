"""Reads the status of a request that Google took earlier: a row is ACCEPTED only if the whole status proves it.

Every number must agree: the rows that were sent, the rows that Google processed, and the count and the places of each
reason. A status that contradicts itself is UNPROVEN, and none of it is used.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kilit.lock.text import strip_control_chars
from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.codes.google import AMBIGUOUS, UNSPECIFIED, Meaning, verdict_meaning, worst
from ociqueue.codes.table import USER_DATA_NOT_MATCHED
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Disposition
from ociqueue.uploader.results import RowResult, Verdict, VerdictStatus, blame_rows

SUCCESS, PARTIAL_SUCCESS = "SUCCESS", "PARTIAL_SUCCESS"
FAILED = ("FAILED", "FAILURE")  # the reference and the guide name it differently
REASON_PREFIX = re.compile("^PROCESSING_ERROR_(REASON_)?")  # Google spells one name without REASON_
WARNING_PREFIX = "PROCESSING_WARNING_REASON_"
CLICK_NOT_FOUND = "CLICK_NOT_FOUND"
CODE = re.compile(r"[A-Z][A-Z0-9_]*\Z")


class ContradictoryStatus(Exception):
    """The status does not prove what became of the rows."""


@dataclass(frozen=True)
class ReasonCount:
    """A reason, how many rows have it, and their places; without places it is known only how many."""

    name: str
    count: int
    places: tuple[int, ...]

    def rows(self, sent: int) -> frozenset[int]:
        """Return the places of the rows with this reason, if the count proves them."""
        if not self.places and self.count == sent:
            return frozenset(range(sent))
        is_ascending = all(before < after for before, after in zip(self.places, self.places[1:], strict=False))
        if len(self.places) != self.count or not self.places or not is_ascending or self.places[-1] >= sent:
            raise ContradictoryStatus(sentences.NO_PLACES % {"rows": self.count, "name": self.name})
        return frozenset(self.places)


def read_status(reply: Any, rows: Sequence[Uploadable]) -> Verdict:
    """Return what a status says about the rows of its request, in the order that was sent; never raise for any JSON."""
    destinations = reply.get("requestStatusPerDestination") if isinstance(reply, dict) else None
    if not isinstance(destinations, list) or not destinations:
        return Verdict(VerdictStatus.PENDING, note=sentences.NO_DESTINATION)
    if len(destinations) != 1 or not isinstance(destinations[0], dict):
        return Verdict(VerdictStatus.UNPROVEN, note=sentences.DESTINATIONS)
    status = destinations[0]
    name = status.get("requestStatus")
    if name not in (SUCCESS, PARTIAL_SUCCESS, *FAILED):
        return Verdict(VerdictStatus.PENDING, label=_label(name))
    try:
        results = [
            _of_user_data(row, result) for row, result in zip(rows, _results(status, name, len(rows)), strict=True)
        ]
    except ContradictoryStatus as contradiction:
        return Verdict(VerdictStatus.UNPROVEN, label=name, note=str(contradiction))
    results, note = _with_warnings(status, results)
    return Verdict(VerdictStatus.SETTLED, results, label=name, note=note)


def _results(status: Mapping[str, object], name: str, sent: int) -> list[RowResult]:
    processed = _number(_object(status, "eventsIngestionStatus").get("recordCount"))
    if not sent or processed != sent:
        raise ContradictoryStatus(sentences.ROWS_PROCESSED % {"processed": processed, "rows": sent})
    reasons = _counts(_object(status, "errorInfo"), "errorCounts")
    by_row = _by_row(reasons, sent)
    expected = {SUCCESS: not reasons, PARTIAL_SUCCESS: 0 < len(by_row) < sent}.get(name, len(by_row) == sent)
    if not expected:
        raise ContradictoryStatus(sentences.OTHER_COUNT % {"status": name, "errors": len(by_row), "rows": sent})
    accepted = RowResult(Disposition.ACCEPTED)
    return blame_rows([_row_result(by_row[at]) if at in by_row else accepted for at in range(sent)])


def _of_user_data(row: Uploadable, result: RowResult) -> RowResult:
    """Name it apart when no click fits a row that has none: that is no fault of the row, and in no failure rate."""
    if result.code != CLICK_NOT_FOUND or not getattr(row, "has_only_hashes", False):
        return result
    message = joined(sentences.NOT_MATCHED, sentences.VERDICT % {"names": CLICK_NOT_FOUND})
    return replace(result, code=USER_DATA_NOT_MATCHED, message=message)


def _by_row(reasons: Sequence[ReasonCount], sent: int) -> dict[int, dict[str, Meaning]]:
    if len({reason.name for reason in reasons}) != len(reasons):
        raise ContradictoryStatus(sentences.LISTED_TWICE)
    by_row: dict[int, dict[str, Meaning]] = {}
    for reason in reasons:
        places, meaning = reason.rows(sent), verdict_meaning(reason.name)
        if meaning.if_all and len(places) == sent > 1:
            meaning = replace(meaning, disposition=meaning.if_all)
        for at in places:
            by_row.setdefault(at, {})[reason.name] = meaning
    return by_row


def _row_result(meanings: Mapping[str, Meaning]) -> RowResult:
    deciding = worst(meanings.values())
    name, meaning = next((name, meaning) for name, meaning in meanings.items() if meaning == deciding)
    return RowResult(
        meaning.disposition,
        code=name[:64],
        category=meaning.category,
        message=joined(meaning.hint, sentences.VERDICT % {"names": ", ".join(meanings)}),
        retry_after=meaning.retry_after,
        ambiguous=AMBIGUOUS in meanings.values(),
    )


def _with_warnings(status: Mapping[str, object], results: list[RowResult]) -> tuple[list[RowResult], str]:
    """Add warnings to the rows that they name; a warning never fails a row, so one that cannot be read is a note."""
    warned: dict[int, tuple[str, ...]] = {}
    notes = []
    try:
        warnings = _counts(_object(status, "warningInfo"), "warningCounts")
    except ContradictoryStatus as contradiction:
        return results, str(contradiction)
    for warning in warnings:
        text = warning.name.removeprefix(WARNING_PREFIX)
        try:
            places = warning.rows(len(results))
        except ContradictoryStatus:
            notes.append(sentences.WARNED % {"rows": warning.count, "name": text})
            continue
        for at in places:
            warned[at] = (*warned.get(at, ()), text)
    for at, texts in warned.items():
        results[at] = replace(results[at], warnings=texts)
    return results, joined(*notes)


def _counts(info: Mapping[str, object], key: str) -> list[ReasonCount]:
    listed = info.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise ContradictoryStatus(sentences.UNREADABLE % {"key": key})
    return [_count(entry) for entry in listed]


def _count(entry: object) -> ReasonCount:
    if not isinstance(entry, dict):
        raise ContradictoryStatus(sentences.UNREADABLE_STATUS)
    # Google leaves out what is zero or empty: a reason that is missing is UNSPECIFIED.
    reason, count = entry.get("reason", UNSPECIFIED), _number(entry.get("recordCount"))
    indices = entry.get("recordIndices", [])
    if not isinstance(reason, str) or not count or not isinstance(indices, list):
        raise ContradictoryStatus(sentences.UNREADABLE_STATUS)
    places = [_number(index) for index in indices]
    if None in places:
        raise ContradictoryStatus(sentences.UNREADABLE_STATUS)
    return ReasonCount(
        _label(REASON_PREFIX.sub("", reason)), count, tuple(place for place in places if place is not None)
    )


def _object(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ContradictoryStatus(sentences.UNREADABLE % {"key": key})
    return value


def _number(value: object) -> int | None:
    """Return a whole number of zero or more, given as a number or as JSON writes 64 bits; else None."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _label(name: object) -> str:
    """Return a name that is safe to store, whatever Google calls it."""
    if isinstance(name, str) and CODE.match(name):
        return name[:100]
    return strip_control_chars(f"UNKNOWN ({name!r})")[:40] if name else "UNKNOWN"
