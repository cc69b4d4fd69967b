"""Attempts: how often a row was tried, how often it may be, and when it is tried again.

A claim counts an attempt. Nothing else does, and the count never goes down: attempts that no longer count are
forgiven, and limits compare the difference. A queue with retries inherits `RetriedModel` and `RetriedQuerySet`, names
a schedule and the length of a lease, and lists these verbs in its table, beside one of its own for success:

    claim         waiting → held
    retry_later   held → waiting      the attempt failed; the row waits as its schedule says
    fail          held → failed       it was the last attempt
    recover       held → waiting      the worker died or hangs
    retry         failed → waiting    an operator gives the row all attempts again
    mark_failed   waiting → failed    an operator ends the row

Rows are settled under their claim: `Message.objects.held_by(*claimed).settle("deliver")`, or `.retry_later(…)`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import BaseConstraint, Case, DurationField, ExpressionWrapper, F, Index, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest, Now, Random
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.failures import error_group_field
from kilit.lock.guard import LifecycleModel
from kilit.lock.leases import LeasedModel, LeasedQuerySet, lease_check, new_lease
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.table import Kind, Lifecycle
from kilit.sentences import sentence

Row = TypeVar("Row", bound="RetriedModel")
Changes = dict[str, Any]

VERBS = ("claim", "retry_later", "fail", "recover", "retry", "mark_failed")
ATTEMPTS = F("attempt_count") - F("attempts_forgiven")
COUNTED: Changes = {"attempt_count": F("attempt_count") + 1}
FORGIVEN: Changes = {"attempts_forgiven": F("attempt_count")}
# In lifecycle_triggers(…): the count changes at claims alone.
ATTEMPT_COUNTERS = Counters(raised_by={"attempt_count": "claim"}, never_down=["attempts_forgiven"])
NO_ERROR: Changes = {"error_code": "", "error_message": ""}


@dataclass(frozen=True)
class Schedule:
    """The waits between attempts; after one more attempt than waits a row fails.

    Each wait is longer by a random part of `jitter`, so that rows that failed together are not all tried together.
    """

    waits: tuple[timedelta, ...]
    jitter: float = 0.2

    @property
    def most_attempts(self) -> int:
        return len(self.waits) + 1

    def wait(self) -> Case:
        """Return how long a row waits after its last attempt."""
        waits = enumerate(self.waits[:-1], start=1)
        cases = [When(LessThanOrEqual(ATTEMPTS, Value(number)), then=Value(wait)) for number, wait in waits]
        return Case(*cases, default=Value(self.waits[-1]), output_field=DurationField())

    def spread(self, wait: Combinable) -> Combinable:
        longer = wait * (Value(1.0) + Value(self.jitter) * Random())
        return ExpressionWrapper(longer, output_field=DurationField())


def used_up(most: int | Combinable) -> Q:
    """Match rows without attempts left."""
    return Q(GreaterThanOrEqual(ATTEMPTS, Value(most) if isinstance(most, int) else most))


MARKED_FAILED = sentence("MARKED_FAILED", gettext_noop("Marked failed by an operator."))
WORKER_LOST = sentence("WORKER_LOST", gettext_noop("The worker's lease ran out."))


class RetriedQuerySet(LeasedQuerySet[Row]):
    def waiting(self) -> Self:
        return self.filter(status__in=self.model.lifecycle.of_kind(Kind.WAITING))

    def held(self) -> Self:
        return self.filter(status__in=self.model.lifecycle.of_kind(Kind.HELD))

    def due(self) -> Self:
        return self.waiting().filter(next_try_at__lte=Now())

    def claimable(self) -> Self:
        """Return what a worker may claim now: nothing while the queue is paused."""
        return self.due().filter(is_not_paused(self.model.lifecycle))

    def claim(self, *, limit: int) -> list[Row]:
        return self.claimable().take_leased(limit=limit)

    def take_leased(self, *, limit: int) -> list[Row]:
        lease = new_lease(self.model.lease_length)
        return self.take("claim", limit=limit, order=("next_try_at", "id"), **COUNTED, **lease)

    def retry_later(self, *, wait_at_least: timedelta = timedelta(0), **changes: object) -> int:
        """End a failed attempt: rows without attempts left fail, the others wait."""
        schedule = self.model.schedule
        wait = Greatest(schedule.spread(schedule.wait()), Value(wait_at_least))
        failed = self.filter(used_up(schedule.most_attempts)).settle("fail", **changes)
        return failed + self.settle("retry_later", next_try_at=Now() + wait, **changes)

    def recover(self) -> int:
        """Take rows back from workers that died or hang, whose attempts count; what they did may be done twice."""
        lost = self.held().lapsed()
        error = {"error_code": "WORKER_LOST", "error_message": WORKER_LOST.stored}
        failed = lost.filter(used_up(self.model.schedule.most_attempts)).settle("fail", **error)
        return failed + lost.settle("recover", next_try_at=Now(), **error)

    def retry(self) -> set[UUID]:
        return self.start_over("retry")

    def start_over(self, verb: str, /, **changes: object) -> set[UUID]:
        """Try rows again for an operator, with all attempts of the schedule."""
        return self.move_each(verb, **self.model.fresh(), **changes)

    def mark_failed(self) -> set[UUID]:
        return self.move_each("mark_failed", error_code="MARKED_FAILED", error_message=MARKED_FAILED.stored)


class AttemptsModel(LifecycleModel):
    attempt_count = models.PositiveIntegerField(_("attempts"), default=0)
    attempts_forgiven = models.PositiveIntegerField(default=0)

    class Meta(LifecycleModel.Meta):
        abstract = True


class RetriedModel(AttemptsModel, LeasedModel):
    schedule: ClassVar[Schedule]
    lease_length: ClassVar[timedelta]  # longer than an attempt may take: then its worker counts as dead

    next_try_at = models.DateTimeField(_("next attempt at"), db_default=Now())
    error_code = models.CharField(_("error code"), max_length=32, blank=True)
    error_message = models.CharField(_("error"), max_length=500, blank=True)
    error_group = error_group_field()

    class Meta(LeasedModel.Meta):
        abstract = True

    @classmethod
    def fresh(cls) -> Changes:
        """Return the columns of a row that starts over; the events have its last error."""
        return {"next_try_at": Now(), **FORGIVEN, **NO_ERROR}

    def retry(self) -> Self:
        return self.move("retry", **self.fresh())


def attempt_checks(table: Lifecycle, schedule: Schedule) -> list[BaseConstraint]:
    if missing := [verb for verb in VERBS if verb not in table.moves]:
        raise TypeError(f"{table.queue}: attempts need the verb {missing[0]}")
    for kind in (Kind.HELD, Kind.FAILED):
        if len(states := table.of_kind(kind)) != 1:
            raise TypeError(f"{table.queue}: attempts need one {kind.name} state, not {', '.join(states) or 'none'}")
    (failed,) = table.of_kind(Kind.FAILED)
    conditions = {
        f"failed_{table.queue}_has_error": ~Q(status=failed) | ~Q(error_code=""),
        # Whatever the code does, no row is tried endlessly.
        f"{table.queue}_attempts_are_bounded": Q(attempt_count__lte=F("attempts_forgiven") + schedule.most_attempts),
    }
    return [lease_check(table), *checks(**conditions)]


def attempt_indexes(table: Lifecycle, *, before: tuple[str, ...] = ()) -> list[Index]:
    """Return the indexes of claims, of the sweep, and of lists of a state; claims may be of one scope, named before."""
    waiting, held = table.of_kind(Kind.WAITING), table.of_kind(Kind.HELD)[0]
    return [
        Index(fields=[*before, "next_try_at", "id"], condition=Q(status__in=waiting), name=f"{table.queue}_due"),
        Index(fields=["lease_until"], condition=Q(status=held), name=f"{table.queue}_held"),
        Index(fields=["status", "id"], name=f"{table.queue}_in_status"),
    ]
