"""What is new for a channel since its last messages."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from django.db.models import Q

from kilit.problems.models import ProblemRecord
from outbox.models import AlertedProblem, AlertRule, Channel

GROWN = 10  # times as many as in the last message


class ChangeKind(Enum):
    OPENED = "alert.opened"
    GREW = "alert.grew"
    CLOSED = "alert.closed"
    CAME_AND_WENT = "alert.came_and_went"  # in quiet hours


@dataclass(frozen=True)
class Change:
    kind: ChangeKind
    record: ProblemRecord

    @property
    def is_over(self) -> bool:
        return self.kind in (ChangeKind.CLOSED, ChangeKind.CAME_AND_WENT)


def find_changes(channel: Channel, now: datetime) -> list[Change]:
    """Return what a channel has not reported yet; nothing about problems that are muted."""
    alerted = {row.record_id: row for row in AlertedProblem.objects.filter(channel=channel)}
    rules = list(channel.rules.all()) or [AlertRule()]
    records = ProblemRecord.objects.filter(reader=channel.reader)
    over = records.closed().filter(Q(closed_at__gt=channel.looked_at) | Q(pk__in=alerted)).order_by("closed_at")
    return [
        *_opened_or_grown(records.open().order_by("-severity", "-count", "key"), alerted, rules, now),
        *_over(over, alerted, rules),
    ]


def _opened_or_grown(
    records: Iterable[ProblemRecord], alerted: Mapping[UUID, AlertedProblem], rules: list[AlertRule], now: datetime
) -> Iterator[Change]:
    for record in records:
        is_muted = record.muted_until is not None and record.muted_until > now
        if is_muted or not any(rule.matches(record) for rule in rules):
            continue
        last = alerted.get(record.pk)
        if last is None:
            yield Change(ChangeKind.OPENED, record)
        elif record.count >= GROWN * last.count:
            yield Change(ChangeKind.GREW, record)


def _over(
    records: Iterable[ProblemRecord], alerted: Mapping[UUID, AlertedProblem], rules: list[AlertRule]
) -> Iterator[Change]:
    for record in records:
        was_muted = record.muted_until is not None and record.muted_until > (record.closed_at or record.seen_at)
        if was_muted:
            continue
        if record.pk in alerted:
            yield Change(ChangeKind.CLOSED, record)
        elif any(rule.matches(record) for rule in rules):
            yield Change(ChangeKind.CAME_AND_WENT, record)
