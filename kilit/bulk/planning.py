"""Planning: how much would be done, and writing down which rows exactly.

Rows are written down by one statement, so that they are those of one moment: what comes later is not touched, and what
somebody else moves meanwhile is told, not missed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from kilit.bulk.models import LEASE, BulkAction, BulkItem
from kilit.bulk.queues import BulkQueue, Verb, queues, verb_of
from kilit.lock.leases import new_lease
from kilit.workers import doorbells

BELL = "bulk_actions"
MOST_LOOKED_AT = 10_000
MOST_ROWS = 1_000_000

WRITE_DOWN = """
    INSERT INTO bulk_bulkitem (action_id, object_id, found_as)
    SELECT %s, picked.id, picked.status FROM ({picked}) AS picked
"""


@dataclass(frozen=True)
class Look:
    """What an action would find, counted no further than a page can wait for."""

    eligible: Counter[str]
    passed_by: Counter[str]
    others: Counter[str]

    @property
    def is_capped(self) -> bool:
        """Whether there are more rows in reach of the action than were counted."""
        return self.eligible.total() + self.passed_by.total() > MOST_LOOKED_AT

    @property
    def others_capped(self) -> bool:
        """Whether there are more other rows than were counted."""
        return self.others.total() > MOST_LOOKED_AT

    def told(self) -> dict[str, Any]:
        """Return the dry run, as the action keeps it."""
        return {
            "eligible": dict(self.eligible),
            "passed_by": dict(self.passed_by),
            "others": dict(self.others),
            "others_capped": self.others_capped,
        }


def look(queue: BulkQueue, verb: Verb, user: User | AnonymousUser, filters: Mapping[str, str]) -> Look:
    """Count what matches at this moment, up to a cap; rows in other states are never walked beyond it."""
    rows = verb.within_reach(queue.matching(user, filters), user)
    found = verb.judged(rows.filter(status__in=verb.sources)).order_by()
    verdicts = Counter(found.values_list("verdict", flat=True)[: MOST_LOOKED_AT + 1])
    return Look(*_parted(verb, verdicts), others=_others(rows, verb))


def plan(
    *,
    queue: str,
    action: str,
    user: User,
    filters: Mapping[str, str],
    filters_told: str,
    reason: str,
    options: Mapping[str, Any],
) -> BulkAction:
    """Keep what an operator asks for; a worker writes the rows down."""
    planned = BulkAction.objects.create(
        queue=queue,
        action=action,
        asked_by=user,
        filters=dict(filters),
        filters_told=filters_told[:1000],
        zone=timezone.get_current_timezone_name(),
        reason=reason,
        options=dict(options),
    )
    doorbells.ring(BELL)
    return planned


def plan_now(**asked: Any) -> BulkAction:
    """Keep what an operator asks for, and write its rows down at once: for few."""
    with transaction.atomic():
        planned = plan(**asked)
        BulkAction.objects.filter(pk=planned.pk).update(**new_lease(LEASE))
        planned.refresh_from_db()
        write_down(planned)
    return planned


def write_down(action: BulkAction) -> None:
    """Write down which rows match, and what would become of them; all of it or nothing."""
    queue, verb, user = queues[action.queue], verb_of(action.queue, action.action), action.asked_by
    # A day of the filter is the operator's, also where no operator is: workers know no zone.
    with transaction.atomic(), timezone.override(action.zone):
        action.renew()
        matching = queue.matching(user, action.filters, as_of=action.as_of).filter(created_at__lte=action.as_of)
        rows = verb.within_reach(matching, user)
        total = _write_down(action, rows.filter(status__in=verb.sources))
        if total > MOST_ROWS:
            BulkItem.objects.filter(action=action).delete()
            action.fail(f"More than {MOST_ROWS:,} rows match. Narrow the filter.")
            return
        written = queue.model.objects.filter(pk__in=action.items.values("object_id"))
        verdicts = verb.judged(written).order_by().values_list("verdict").annotate(Count("pk"))
        found = Look(*_parted(verb, Counter(dict(verdicts))), others=_others(rows, verb))
        scopes = written.order_by().values_list(verb.scope, flat=True).distinct() if verb.scope else []
        action.prepare(
            total=total,
            eligible=found.eligible.total(),
            dry_run=found.told(),
            scopes=sorted(map(str, scopes)),
        )


def _write_down(action: BulkAction, rows: Any) -> int:
    try:
        sql, params = rows.order_by().values("id", "status")[: MOST_ROWS + 1].query.sql_with_params()
    except EmptyResultSet:  # the filter names what is no longer theirs: there is nothing to ask the database for
        return 0
    with connection.cursor() as cursor:
        cursor.execute(WRITE_DOWN.format(picked=sql), [action.pk, *params])
        return int(cursor.rowcount)


def _parted(verb: Verb, verdicts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    eligible = Counter({verdict: number for verdict, number in verdicts.items() if verdict in verb.sources})
    return eligible, verdicts - eligible


def _others(rows: Any, verb: Verb) -> Counter[str]:
    found = rows.exclude(status__in=verb.sources).order_by().values_list("status", flat=True)
    return Counter(found[: MOST_LOOKED_AT + 1])
