"""A bulk action: counted, planned, and run by workers batch by batch.

One statement records which rows it will act on, all of one moment: rows created later are not touched, and rows that
something else moves meanwhile are reported as skipped.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import EmptyResultSet
from django.db import transaction
from django.db.models import Count, F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from kilit.access.roles import actor_of
from kilit.batches.engine import BatchEngine, BatchStopped
from kilit.batches.models import BulkAction, BulkItem
from kilit.batches.operations import Operation, OperationResult, Skip
from kilit.batches.queues import Queue, queues
from kilit.batches.states import BulkState
from kilit.database.sql import execute
from kilit.lock.audit import acting_as, without_activity
from kilit.lock.models import Activity, ActivityKind
from kilit.sentences import sentence
from kilit.workers import doorbells

MOST_LOOKED_AT = 10_000
MOST_ROWS = 1_000_000
TOO_MANY = sentence("BULK_TOO_MANY", _("More than %(most)s rows match. Narrow the filter."))
NOT_ALLOWED = sentence("BULK_NOT_ALLOWED", _("%(user)s may no longer act on these rows."))

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
    def of(cls, rows: Any, operation: Operation, skips: Mapping[Skip, int]) -> "DryRun":
        """Sort what was found, and count other rows that match, never beyond the cap."""
        eligible = Counter({skip.state: number for skip, number in skips.items() if not skip.reason})
        skipped = Counter({skip: number for skip, number in skips.items() if skip.reason})
        others = rows.exclude(status__in=operation.sources).order_by().values_list("status", flat=True)
        return cls(eligible, skipped, Counter(others[: MOST_LOOKED_AT + 1]))

    @property
    def is_capped(self) -> bool:
        return self.eligible.total() + self.skipped.total() > MOST_LOOKED_AT

    def as_json(self) -> dict[str, object]:
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
    queue: Queue, operation: Operation, user: User | AnonymousUser, filters: Mapping[str, str]
) -> DryRun:
    """Count what matches at this moment, up to a cap."""
    rows = operation.within_reach(queue.matching(user, filters), user)
    eligible = operation.with_skip_reason(rows.filter(status__in=operation.sources)).order_by()
    skips = Counter(map(Skip._make, eligible.values_list("status", "skip_reason")[: MOST_LOOKED_AT + 1]))
    return DryRun.of(rows, operation, skips)


def plan(*, user: User, filters_text: str, **columns: object) -> BulkAction:
    """Save what an operator asks for (queue, action, filters, reason and options); a worker records the rows."""
    zone = timezone.get_current_timezone_name()
    planned = BulkAction.objects.create(asked_by=user, filters_text=filters_text[:1000], zone=zone, **columns)
    doorbells.ring(ENGINE.bell)
    return planned


@transaction.atomic
def plan_now(**columns: Any) -> BulkAction:
    """Save what an operator asks for, and record its rows at once: for few."""
    planned = BulkAction.objects.filter(pk=plan(**columns).pk).claim_now()
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
            raise BatchStopped(TOO_MANY % {"most": f"{MOST_ROWS:,}"})
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
    return execute(RECORD_ROWS.format(picked=sql), [action.pk, *params])


def steps(action: BulkAction) -> Iterator[None]:
    if action.status == BulkState.PLANNED:
        record_rows(action)
        yield
    while action.status == BulkState.RUNNING:
        run_batch(action)
        yield


ENGINE = BatchEngine(bell="bulk_actions", rows=BulkAction.objects.all, steps=steps)


def run_batch(action: BulkAction) -> None:
    """Run the next batch, all or nothing."""
    queue = queues[action.queue]
    operation = queue.operation(action.action)
    with transaction.atomic():
        action.renew()
        action.refresh_from_db()
        # Read again for every batch: a user who lost the permission does not act through an earlier action.
        user = User.objects.get(pk=action.asked_by_id)
        if not queue.may_act(user):
            raise BatchStopped(NOT_ALLOWED % {"user": user})
        ids = BulkItem.objects.next_of(action, limit=operation.batch)
        if not ids:
            action.finish()
            record_scopes(action, user)
            return
        # The activity shows the bulk action.
        with without_activity(), acting_as(actor_of(user), reason=f"{action.reason} ({action})"):
            result = operation.apply(user, ids, action.options)
        record_results(action, operation, ids, result)
    action.refresh_from_db()


def record_scopes(action: BulkAction, user: User) -> None:
    """Show the action in the activity of each site whose rows it changed, too."""
    subject = {"queue": action.lifecycle.queue, "object_id": action.pk, "message": action.reason, "is_part": True}
    person = {"actor": actor_of(user), "person": user.get_username()}
    Activity.objects.bulk_create(
        Activity(kind=ActivityKind.ACTION, verb="finish", scope=scope, **subject, **person)
        for scope in action.scopes or ()
    )


def record_results(action: BulkAction, operation: Operation, ids: Sequence[UUID], result: OperationResult) -> None:
    items = BulkItem.objects.filter(action=action)
    items.filter(object_id__in=result.moved).settle(BulkItem.Result.CHANGED)
    by_skip: dict[Skip, list[UUID]] = defaultdict(list)
    for pk in ids:
        if pk not in result.moved:
            by_skip[result.skipped.get(pk, Skip("", operation.out_of_reach))].append(pk)
    for skip, skipped in by_skip.items():
        items.filter(object_id__in=skipped).settle(BulkItem.Result.SKIPPED, skip)
    skips = skips_from_json(action.skipped) + Counter({skip: len(skipped) for skip, skipped in by_skip.items()})
    BulkAction.objects.held_by(action).update(
        last_object_id=ids[-1],
        done_count=F("done_count") + len(ids),
        moved_count=F("moved_count") + len(result.moved),
        skipped=skips_as_json(skips),
        updated_at=Now(),
        lapse_count=0,
        error="",
    )


def tidy() -> str:
    cancelled = ENGINE.cancel_unconfirmed()
    deleted, _kinds = BulkItem.objects.outdated().delete()
    return f"Cancelled {cancelled}, deleted {deleted} results."
