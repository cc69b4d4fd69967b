"""Sweeps: chores that run by the clock, declared in code and reconciled with django-q2's schedules at start."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import Schedule

from lifecycle.actor import acting_as
from lifecycle.models import Count, SweepRun

logger = logging.getLogger(__name__)

DOOR = "lifecycle.tasks.sweep"


@dataclass(frozen=True)
class Sweep:
    """A chore: how often it runs, and a verb that does it and returns what it did, in words."""

    name: str
    every: timedelta
    run: Callable[[], str]


sweeps: dict[str, Sweep] = {}


def register(name: str, *, every: timedelta, run: Callable[[], str]) -> None:
    """Declare a sweep; called from an app's `ready()`."""
    sweeps[name] = Sweep(name, every, run)


def register_own() -> None:
    """Declare the sweeps of the lock itself."""
    register("fold_counts", every=timedelta(minutes=1), run=lambda: f"Folded {Count.objects.fold()}.")


def run(name: str) -> str:
    """Run a sweep now, and write down when and what it said; a failure is written down and goes on."""
    SweepRun.note(name, started_at=Now(), finished_at=None, succeeded=None, result="")
    try:
        with acting_as(f"sweep:{name}"):
            result = sweeps[name].run()
    except Exception as error:
        SweepRun.note(name, finished_at=Now(), succeeded=False, result=f"{type(error).__name__}: {error}"[:1000])
        raise
    SweepRun.note(name, finished_at=Now(), succeeded=True, result=result)
    logger.info("sweep %s: %s", name, result)
    return result


def reconcile() -> None:
    """Make the schedules in the database those declared in code, and no others.

    A foreign row is removed because one with unreadable arguments would stop all of django-q2's schedules.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # Nothing in django-q2's table keeps two supervisors that start at once from writing a schedule twice.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('lifecycle_schedules'))")
        known: dict[str, Schedule] = {}
        for schedule in Schedule.objects.order_by("id"):
            if schedule.func == DOOR and schedule.name in sweeps and schedule.name not in known:
                known[schedule.name] = schedule
            else:
                schedule.delete()
        for sweep in sweeps.values():
            _schedule(known.get(sweep.name) or Schedule(name=sweep.name, func=DOOR, next_run=timezone.now()), sweep)


def _schedule(schedule: Schedule, sweep: Sweep) -> None:
    schedule.args = repr((sweep.name,))
    schedule.schedule_type, schedule.minutes = Schedule.MINUTES, int(sweep.every.total_seconds() // 60)
    schedule.repeats, schedule.cluster = -1, None
    schedule.save()
