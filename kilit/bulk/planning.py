"""Planning: counting what an operation would do, and recording exactly which rows it will act on.

One statement records the rows, so that they are those of one moment: rows created later are not touched, and rows that
something else moves meanwhile are reported as skipped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from kilit.bulk.models import LEASE, BulkAction, BulkItem
from kilit.bulk.operations import Operation, Skip
from kilit.bulk.queues import BulkQueue, queues
from kilit.lock.leases import new_lease
from kilit.workers import doorbells

BELL = "bulk_actions"
MOST_LOOKED_AT = 10_000
MOST_ROWS = 1_000_000

RECORD_ROWS = """
    INSERT INTO bulk_bulkitem (action_id, object_id, found_as)
    SELECT %s, picked.id, picked.status FROM ({picked}) AS picked
"""


@dataclass(frozen=True)
class DryRun:
    """What an operation would do, counted no further than a page can wait for."""

    eligible: Counter[str]  # by state
    skipped: Counter[Skip]  # in a state that it applies to, with a reason against it
    others: Counter[str]  # in other states

    @classmethod
    def of(cls, rows: Any, operation: Operation, found: Mapping[Skip, int]) -> "DryRun":
        """Sort what was found, and count other rows that match, never beyond the cap."""
        eligible = Counter({skip.state: number for skip, number in found.items() if not skip.reason})
        skipped = Counter({skip: number for skip, number in found.items() if skip.reason})
        others = rows.exclude(status__in=operation.sources).order_by().values_list("status", flat=True)
        return cls(eligible, skipped, Counter(others[: MOST_LOOKED_AT + 1]))

    @property
    def is_capped(self) -> bool:
        return self.eligible.total() + self.skipped.total() > MOST_LOOKED_AT

    def as_json(self) -> dict[str, Any]:
        return {
            "eligible": dict(self.eligible),
            "skipped": skips_as_json(self.skipped),
            "others": dict(self.others),
            "others_capped": self.others.total() > MOST_LOOKED_AT,
        }


def skips_as_json(skips: Mapping[Skip, int]) -> list[tuple[str, str, int]]:
    return [(*skip, number) for skip, number in sorted(skips.items())]


def skips_from_json(stored: Iterable[tuple[str, str, int]]) -> Counter[Skip]:
    return Counter({Skip(state, reason): number for state, reason, number in stored})


def count_matching(
    queue: BulkQueue, operation: Operation, user: User | AnonymousUser, filters: Mapping[str, str]
) -> DryRun:
    """Count what matches at this moment, up to a cap."""
    rows = operation.within_reach(queue.matching(user, filters), user)
    found = operation.with_skip_reason(rows.filter(status__in=operation.sources)).order_by()
    skips = Counter(map(Skip._make, found.values_list("status", "skip_reason")[: MOST_LOOKED_AT + 1]))
    return DryRun.of(rows, operation, skips)


def plan(*, user: User, filters_text: str, **columns: Any) -> BulkAction:
    """Save what an operator asks for (queue, action, filters, reason and options); a worker records the rows."""
    zone = timezone.get_current_timezone_name()
    planned = BulkAction.objects.create(asked_by=user, filters_text=filters_text[:1000], zone=zone, **columns)
    doorbells.ring(BELL)
    return planned


def plan_now(**asked: Any) -> BulkAction:
    """Save what an operator asks for, and record its rows at once: for few."""
    with transaction.atomic():
        planned = plan(**asked)
        BulkAction.objects.filter(pk=planned.pk).update(**new_lease(LEASE))
        planned.refresh_from_db()
        record_rows(planned)
    return planned


def record_rows(action: BulkAction) -> None:
    """Record which rows match and what would happen to them; all or nothing."""
    queue, user = queues[action.queue], action.asked_by
    operation = queue.operation(action.action)
    # Days in filters are the operator's, and workers have no time zone of their own.
    with transaction.atomic(), timezone.override(action.zone):
        action.renew()
        matching = queue.matching(user, action.filters, as_of=action.as_of).filter(created_at__lte=action.as_of)
        rows = operation.within_reach(matching, user)
        total = _insert_items(action, rows.filter(status__in=operation.sources))
        if total > MOST_ROWS:
            BulkItem.objects.filter(action=action).delete()
            action.fail(f"More than {MOST_ROWS:,} rows match. Narrow the filter.")
            return
        recorded = queue.model.objects.filter(pk__in=action.items.values("object_id")).order_by()
        counts = operation.with_skip_reason(recorded).values_list("status", "skip_reason").annotate(Count("pk"))
        dry_run = DryRun.of(rows, operation, skips_from_json(counts))
        scopes = recorded.values_list(operation.scope, flat=True).distinct() if operation.scope else []
        action.prepare(
            total=total, eligible=dry_run.eligible.total(), dry_run=dry_run.as_json(), scopes=sorted(map(str, scopes))
        )


def _insert_items(action: BulkAction, rows: Any) -> int:
    try:
        sql, params = rows.order_by().values("id", "status")[: MOST_ROWS + 1].query.sql_with_params()
    except EmptyResultSet:  # the filter names what the user no longer sees: there is nothing to ask the database for
        return 0
    with connection.cursor() as cursor:
        cursor.execute(RECORD_ROWS.format(picked=sql), [action.pk, *params])
        return int(cursor.rowcount)
