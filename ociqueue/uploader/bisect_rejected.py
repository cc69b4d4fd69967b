"""Finds the rows that Google minds when it refuses a request without naming one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Outcome

if TYPE_CHECKING:
    from ociqueue.models import Conversion

    Ask = Callable[[list[Conversion]], list[Outcome]]
    Part = tuple[list[Conversion], list[Outcome]]

# When each of eight parts is refused, it is hardly for a row: then one part alone is looked into, down to a single row.
PARTS_THAT_TELL = 8


def settled(rows: "list[Conversion]", ask: "Ask") -> list[Outcome]:
    """Ask for all rows at once, and for halves of what is refused whole, until each row has an outcome of its own."""
    parts: list[Part] = [(rows, ask(rows))]
    while any(is_to_be_halved(told) for _, told in parts):
        if len(parts) < PARTS_THAT_TELL or is_looked_at(parts) or any(is_too_large(told) for _, told in parts):
            parts = [smaller for part in parts for smaller in _halves(part, ask)]
        elif any(is_refused(told) and len(told) == 1 for _, told in parts):
            break  # refused even for a single row: it is the request itself
        else:
            at = next(number for number, (_, told) in enumerate(parts) if is_to_be_halved(told))
            parts = [*parts[:at], *_halves(parts[at], ask), *parts[at + 1 :]]
    looked_at = is_looked_at(parts)
    return [_judged(outcome, looked_at=looked_at) for _, told in parts for outcome in told]


def is_looked_at(parts: "Sequence[Part]") -> bool:
    """Tell whether Google looked at the rows of any part; one that was lost, or stopped by a gate, proves nothing."""
    return any(not told[0].whole_request for _, told in parts)


def is_refused(told: Sequence[Outcome]) -> bool:
    """Tell a request that was refused for a row that Google does not name, or for itself."""
    return told[0].whole_request and told[0].disposition == Disposition.FATAL


def is_too_large(told: Sequence[Outcome]) -> bool:
    """Tell a request that Google wants smaller; a single row cannot be smaller."""
    return len(told) > 1 and told[0].disposition == Disposition.SPLIT


def is_to_be_halved(told: Sequence[Outcome]) -> bool:
    """Tell whether smaller requests may say more."""
    return is_too_large(told) or (len(told) > 1 and is_refused(told))


def _halves(part: "Part", ask: "Ask") -> "Iterator[Part]":
    rows, told = part
    if not is_to_be_halved(told):
        yield part
        return
    middle = len(rows) // 2
    for half in (rows[:middle], rows[middle:]):
        yield half, ask(half)


def _judged(outcome: Outcome, *, looked_at: bool) -> Outcome:
    """Fail a single row that was refused while others passed; without such a proof the account is at fault."""
    if outcome.disposition == Disposition.SPLIT:
        return replace(outcome, disposition=Disposition.FATAL, whole_request=False)
    if not is_refused([outcome]):
        return outcome
    if looked_at:
        return replace(outcome, whole_request=False)
    return replace(outcome, disposition=Disposition.GATE, category=Category.VALIDATION)
