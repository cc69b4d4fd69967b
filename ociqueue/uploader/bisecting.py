"""Finds the invalid rows of a request that was rejected as a whole, by sending halves of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, RowResult, change_results

Send = Callable[[list[Any]], list[RowResult]]
Part = tuple[list[Any], list[RowResult]]

# When each of eight parts is rejected, a row is hardly the cause: then only one part is bisected, down to a single row.
ENOUGH_PARTS = 8


def bisect_rejected(rows: list[Any], send: Send) -> list[RowResult]:
    """Send all rows at once, then halves of what is rejected as a whole, until each row has its own result."""
    parts: list[Part] = [(rows, send(rows))]
    while any(can_be_halved(results) for _, results in parts):
        if len(parts) < ENOUGH_PARTS or any_validated(parts) or any(is_too_large(results) for _, results in parts):
            parts = [smaller for part in parts for smaller in _halves(part, send)]
        elif any(is_rejected(results) and len(results) == 1 for _, results in parts):
            break  # rejected even for a single row: the request itself is the cause
        else:
            at = next(number for number, (_, results) in enumerate(parts) if can_be_halved(results))
            parts = [*parts[:at], *_halves(parts[at], send), *parts[at + 1 :]]
    validated = any_validated(parts)
    every = [result for _, results in parts for result in results]
    return change_results(every, partial(_final, validated=validated))


def any_validated(parts: Sequence[Part]) -> bool:
    """Return whether Google validated the rows of any part; a lost request or a fault of the account proves nothing."""
    return any(not results[0].whole_request for _, results in parts)


def is_rejected(results: Sequence[RowResult]) -> bool:
    """Return whether a request was rejected as a whole: for a row that Google does not name, or for itself."""
    return results[0].whole_request and results[0].disposition == Disposition.FATAL


def is_too_large(results: Sequence[RowResult]) -> bool:
    return len(results) > 1 and results[0].disposition == Disposition.SPLIT


def can_be_halved(results: Sequence[RowResult]) -> bool:
    return is_too_large(results) or (len(results) > 1 and is_rejected(results))


def _halves(part: Part, send: Send) -> Iterator[Part]:
    rows, results = part
    if not can_be_halved(results):
        yield part
        return
    middle = len(rows) // 2
    for half in (rows[:middle], rows[middle:]):
        yield half, send(half)


def _final(result: RowResult, *, validated: bool) -> RowResult:
    """Fail a single row that was rejected while others passed; if none passed, the account is at fault."""
    if result.disposition == Disposition.SPLIT:
        return replace(result, disposition=Disposition.FATAL, whole_request=False)
    if not is_rejected([result]):
        return result
    if validated:
        return replace(result, whole_request=False)
    return replace(result, disposition=Disposition.GATE, category=Category.VALIDATION)
