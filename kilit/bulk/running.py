"""Running: batch by batch, each with its results and its progress in one transaction.

A worker that is killed leaves a whole number of batches behind, and the next goes on after the last of them.
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
from django.utils.translation import gettext_lazy as _

from kilit.access.roles import actor_of
from kilit.bulk.models import BulkAction, BulkItem
from kilit.bulk.planning import BELL, write_down
from kilit.bulk.queues import NotNow, Outcome, Verb, queues, verb_of
from kilit.bulk.states import State
from kilit.lock.audit import acting_as
from kilit.lock.leases import MOST_LAPSES, ClaimLost
from kilit.workers import doorbells, sweeps

logger = logging.getLogger(__name__)

ACTOR = "worker:bulk_actions"
TRY_AGAIN_AFTER = timedelta(seconds=15)


def work_due(*, seconds: float | None = None) -> int:
    """Work on what waits, for at most about so many seconds; return how many actions were taken up."""
    end, taken = math.inf if seconds is None else time.monotonic() + seconds, 0
    with acting_as(ACTOR):
        while time.monotonic() < end and (action := BulkAction.objects.claim()):
            taken += 1
            work(action, end=end)
    return taken


def answer_bell() -> None:
    """Work within what a worker's task may take; what is left rings again."""
    if work_due(seconds=settings.TASK_TIMEOUT / 2) and BulkAction.objects.due().exists():
        doorbells.ring(BELL)


def work(action: BulkAction, *, end: float = math.inf) -> None:
    """Go on with a claimed action until it ends, the time is over, or somebody else has it."""
    if action.lapse_count >= MOST_LAPSES:
        action.fail(action.error or f"{MOST_LAPSES} workers ended, or lost touch, while they were at it.")
        return
    try:
        if action.status == State.PLANNED:
            write_down(action)
        while action.status == State.RUNNING and run_batch(action) and time.monotonic() < end:
            pass
    except ClaimLost:
        return  # cancelled, or another worker has it
    except (OperationalError, InterfaceError):
        raise  # the database is away, for everybody: the lease lapses and another goes on
    except Exception as error:
        if not isinstance(error, NotNow):
            logger.exception("%s broke off", action)
        told = str(error) if isinstance(error, NotNow) else f"{type(error).__name__}; the log says more."
        # The lease is kept as a pause: the next worker finds it lapsed, and counts that.
        with suppress(ClaimLost):
            action.renew(length=TRY_AGAIN_AFTER, error=told[:1000])
    else:
        action.release()


def run_batch(action: BulkAction) -> bool:
    """Do the next batch, all of it or nothing; tell whether there may be more."""
    queue, verb = queues[action.queue], verb_of(action.queue, action.action)
    with transaction.atomic():
        try:
            action.renew()
        except ClaimLost:
            return False  # cancelled, or another worker has it
        action.refresh_from_db()
        # Read anew for every batch: whoever may no longer act does not act by an action begun before.
        user = User.objects.get(pk=action.asked_by_id)
        if not queue.may_act(user):
            action.fail(f"{user} may no longer act on these rows.")
            return False
        ids = BulkItem.objects.next_of(action, limit=verb.batch)
        if not ids:
            action.finish()
            return False
        with acting_as(actor_of(user), reason=f"{action.reason} ({action})"):
            outcome = verb.apply(user, ids, action.options)
        settle(action, verb, ids, outcome)
    action.refresh_from_db()
    return True


def settle(action: BulkAction, verb: Verb, ids: Sequence[UUID], outcome: Outcome) -> None:
    """Write down what became of each row of a batch, and that it is done."""
    items = BulkItem.objects.filter(action=action)
    items.filter(object_id__in=outcome.moved).settle(BulkItem.Outcome.MOVED)
    by_why: dict[str, list[UUID]] = defaultdict(list)
    for pk in ids:
        if pk not in outcome.moved:
            by_why[outcome.left.get(pk, verb.beyond)].append(pk)
    for why, left in by_why.items():
        items.filter(object_id__in=left).settle(BulkItem.Outcome.LEFT, why)
    left_so_far = Counter(action.left) + Counter({why: len(left) for why, left in by_why.items()})
    BulkAction.objects.held_by(action).update(
        last_object_id=ids[-1],
        done_count=F("done_count") + len(ids),
        moved_count=F("moved_count") + len(outcome.moved),
        left=dict(left_so_far),
        updated_at=Now(),
        lapse_count=0,
        error="",
    )


def tidy() -> str:
    """Cancel plans that nobody confirmed, and forget lines of long ago."""
    cancelled = BulkAction.objects.never_confirmed().cancel()
    forgotten, _kinds = BulkItem.objects.outdated().delete()
    return f"Cancelled {cancelled}, forgot {forgotten} results."


def register() -> None:
    doorbells.register(BELL, is_due=lambda: BulkAction.objects.due().exists(), answer=answer_bell)
    about = _("Cancels bulk actions that nobody confirmed, and forgets results of long ago.")
    sweeps.register("bulk_actions_tidy", every=timedelta(hours=1), run=tidy, about=about)
