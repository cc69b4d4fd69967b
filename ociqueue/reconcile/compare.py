"""Compares our counts with Google's, by day and conversion action.

Google counts by the day on which a row arrives there. An upload around midnight may be on either day, so its rows are
put where Google has room for them. Only rows that are old enough can be missing, and rows that
Google may have got explain a larger number there, but never a smaller one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum

DAYS = 7  # what Google's summaries cover, today included
ANY_ACTION = ""  # of counts whose conversion action is not known
ADS_API = "GOOGLE_ADS_API"
ONE_DAY = timedelta(days=1)


class Finding(StrEnum):
    MISSING = "MISSING"  # Google counted fewer than we sent
    STILL_PENDING = "STILL_PENDING"  # Google has not processed them for more than a day
    MORE = "MORE"  # Google counted more than we sent
    OTHER_CLIENT = "OTHER_CLIENT"  # somebody uploads to the action in another way
    MORE_FAILED = "MORE_FAILED"  # Google failed rows after it accepted them


DIFFERENCES = (Finding.MISSING, Finding.STILL_PENDING)  # the others are notes


@dataclass(frozen=True)
class OurCount:
    """Rows of one conversion action that were sent on one of the days from the first to the last."""

    action: str
    first_day: date
    last_day: date
    accepted: int = 0
    failed: int = 0
    unknown: int = 0  # Google may have counted them
    is_due: bool = False  # sent so long ago that Google must have counted them
    by_api: bool = True


@dataclass(frozen=True)
class GoogleCount:
    successful: int = 0
    failed: int = 0
    pending: int = 0

    @property
    def total(self) -> int:
        return self.successful + self.failed + self.pending

    def __add__(self, other: "GoogleCount") -> "GoogleCount":
        return GoogleCount(self.successful + other.successful, self.failed + other.failed, self.pending + other.pending)


ByClient = Mapping[str, GoogleCount]


@dataclass
class DayComparison:
    day: date
    action: str
    google: GoogleCount = field(default_factory=GoogleCount)
    accepted: int = 0
    failed: int = 0
    due: int = 0
    unknown: int = 0
    elsewhere: int = 0  # what other clients uploaded
    findings: list[Finding] = field(default_factory=list)

    @property
    def ours(self) -> int:
        return self.accepted + self.failed

    @property
    def differs(self) -> bool:
        return any(finding in DIFFERENCES for finding in self.findings)


def compare(
    ours: Iterable[OurCount], google: Mapping[tuple[date, str], ByClient], *, today: date, any_client: bool
) -> list[DayComparison]:
    """Return the last days of each action, newest first.

    With `any_client`, Google's counts of all clients belong together: it is not known where it counts scripts.
    """
    days = [today - ONE_DAY * age for age in reversed(range(DAYS))]
    by_action: dict[str, list[OurCount]] = defaultdict(list)
    for count in ours:
        by_action[count.action].append(count)
    anywhere = by_action.pop(ANY_ACTION, [])
    actions = set(by_action) | {action for day, action in google if day in days}
    compared = []
    for action in sorted(actions):
        rows = {day: _google_side(day, action, google.get((day, action), {}), any_client=any_client) for day in days}
        _add_ours(rows, by_action[action])
        for row in rows.values():
            own_counts = [*by_action[action], *anywhere]
            possible = [count for count in own_counts if count.first_day <= row.day <= count.last_day]
            row.unknown = sum(count.unknown for count in possible)
            row.findings = list(_findings(row, possible))
        compared += [row for row in rows.values() if row.ours or row.google.total or row.elsewhere]
    return sorted(compared, key=lambda row: (-row.day.toordinal(), row.action))


def _google_side(day: date, action: str, clients: ByClient, *, any_client: bool) -> DayComparison:
    own_counts = [count for client, count in clients.items() if any_client or client == ADS_API]
    total = sum(own_counts, GoogleCount())
    everybody = sum((count.total for count in clients.values()), 0)
    return DayComparison(day, action, total, elsewhere=everybody - total.total)


def _add_ours(rows: Mapping[date, DayComparison], ours: Sequence[OurCount]) -> None:
    # What began before the first day may have been counted on a day that Google does not report any more.
    reported = [count for count in ours if count.first_day in rows]
    for day, count, due in _spread(
        [(count, count.failed) for count in reported], {day: row.google.failed for day, row in rows.items()}
    ):
        rows[day].failed += count
        rows[day].due += due
    # A row that Google accepted may have failed later, so accepted rows may be anywhere in its total.
    room = {day: row.google.total - row.failed for day, row in rows.items()}
    for day, count, due in _spread([(count, count.accepted) for count in reported], room):
        rows[day].accepted += count
        rows[day].due += due


def _spread(counts: Iterable[tuple[OurCount, int]], room: Mapping[date, int]) -> Iterator[tuple[date, int, int]]:
    """Yield how many rows belong to a day, and how many of them are due.

    Rows that can only be on one day take its room first. The others take what is left of their first days, the rest
    has to be on their last one.
    """
    waiting = sorted((count for count in counts if count[1]), key=lambda pair: pair[0].last_day)
    left = [number for _, number in waiting]
    for day, free in sorted(room.items()):
        available = free
        for at, (count, _) in enumerate(waiting):
            number = left[at]
            if not number or day < count.first_day:
                continue
            is_last = day >= count.last_day or day == max(room)
            if taken := number if is_last else max(0, min(number, available)):
                available -= taken
                left[at] = number - taken
                yield day, taken, taken if count.is_due else 0


def _findings(row: DayComparison, possible: Sequence[OurCount]) -> Iterator[Finding]:
    """Compare a day; `possible` is everything of ours that Google may have counted on it."""
    if row.google.total < row.due:
        yield Finding.MISSING
    elif row.google.successful + row.google.failed < row.due:
        yield Finding.STILL_PENDING
    if row.google.total > row.unknown + sum(count.accepted + count.failed for count in possible):
        yield Finding.MORE
    if row.elsewhere > sum(count.unknown for count in possible if not count.by_api):
        yield Finding.OTHER_CLIENT
    if row.google.failed > row.unknown + sum(count.failed for count in possible):
        yield Finding.MORE_FAILED
