"""Running: batch by batch, each with its results and its progress in one transaction.

A worker that is killed leaves a whole number of batches, and the next worker continues after the last of them.
"""

import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.db.models.functions import Now

from kilit.access.roles import actor_of
from kilit.bulk.models import BulkAction, BulkItem
from kilit.bulk.operations import Operation, OperationResult, OperationUnavailable, Skip
from kilit.bulk.planning import BELL, record_rows, skips_as_json, skips_from_json
from kilit.bulk.queues import queues
from kilit.bulk.states import BulkState
from kilit.lock.audit import acting_as, without_activity
from kilit.lock.leases import MOST_LAPSES, ClaimLost
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.trace import job_trace
from kilit.workers import doorbells

logger = logging.getLogger(__name__)

ACTOR = "worker:bulk_actions"
TRY_AGAIN_AFTER = timedelta(seconds=15)


def work_due(*, seconds: float | None = None) -> int:
    """Work on due actions, for at most about so many seconds; return how many were claimed."""
    end, claimed = math.inf if seconds is None else time.monotonic() + seconds, 0
    with acting_as(ACTOR):
        while time.monotonic() < end and (action := BulkAction.objects.claim()):
            claimed += 1
            with job_trace(Event.objects.trace_of(action)):
                work(action, end=end)
    return claimed


def is_due() -> bool:
    return BulkAction.objects.due().exists()


def handle_bell() -> None:
    """Work within the time that a task may take; if something is left, ring again."""
    if work_due(seconds=settings.TASK_TIMEOUT / 2) and is_due():
        doorbells.ring(BELL)


def work(action: BulkAction, *, end: float = math.inf) -> None:
    """Continue a claimed action until it ends, the time is up, or another worker has it."""
    if action.lapse_count >= MOST_LAPSES:
        action.fail(action.error or f"{MOST_LAPSES} workers died or lost the database while they ran it.")
        return
    try:
        if action.status == BulkState.PLANNED:
            record_rows(action)
        while action.status == BulkState.RUNNING and run_batch(action) and time.monotonic() < end:
            pass
    except ClaimLost:
        return  # cancelled, or another worker has it
    except (OperationalError, InterfaceError):
        raise  # the database is away, for all workers: the lease lapses and another worker continues
    except OperationUnavailable as why:
        _try_later(action, str(why))
    except Exception as error:
        logger.exception("%s was interrupted", action)
        _try_later(action, f"{type(error).__name__}; see the log.")
    else:
        action.release()


def _try_later(action: BulkAction, error: str) -> None:
    # The lease is kept as a pause: the next worker finds it lapsed, and counts that.
    with suppress(ClaimLost):
        action.renew(length=TRY_AGAIN_AFTER, error=error[:1000])


def run_batch(action: BulkAction) -> bool:
    """Run the next batch, all or nothing; return whether there may be more."""
    queue = queues[action.queue]
    operation = queue.operation(action.action)
    with transaction.atomic():
        try:
            action.renew()
        except ClaimLost:
            return False  # cancelled, or another worker has it
        action.refresh_from_db()
        # Read again for every batch: a user who lost the permission does not act through an earlier action.
        user = User.objects.get(pk=action.asked_by_id)
        if not queue.may_act(user):
            action.fail(f"{user} may no longer act on these rows.")
            return False
        ids = BulkItem.objects.next_of(action, limit=operation.batch)
        if not ids:
            action.finish()
            record_scopes(action, user)
            return False
        # The activity shows the bulk action.
        with without_activity(), acting_as(actor_of(user), reason=f"{action.reason} ({action})"):
            result = operation.apply(user, ids, action.options)
        record_results(action, operation, ids, result)
    action.refresh_from_db()
    return True


def record_scopes(action: BulkAction, user: User) -> None:
    """Show the action in the activity of each site whose rows it changed, too."""
    about = {"queue": action.lifecycle.queue, "object_id": action.pk, "message": action.reason, "is_part": True}
    person = {"actor": actor_of(user), "person": user.get_username()}
    Activity.objects.bulk_create(
        Activity(kind=ActivityKind.ACTION, verb="finish", scope=scope, **about, **person)
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
    cancelled = BulkAction.objects.never_confirmed().cancel()
    deleted, _kinds = BulkItem.objects.outdated().delete()
    return f"Cancelled {cancelled}, deleted {deleted} results."
