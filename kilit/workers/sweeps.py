"""Sweeps: scheduled tasks, declared in code and reconciled with the database when a supervisor starts."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.functional import Promise

from kilit.lock.audit import acting_as
from kilit.lock.outages import DATABASE_DOWN
from kilit.workers.interruptions import interrupted_by_outages
from kilit.workers.models import SweepRun

logger = logging.getLogger(__name__)

# A task waits for a supervisor's next turn, and then for a free worker.
STARTS_WITHIN = timedelta(minutes=1)
# django-q2 ends a task a little after its timeout.
ENDS_WITHIN = timedelta(seconds=settings.TASK_TIMEOUT + 10)


@dataclass(frozen=True)
class Sweep:
    """A scheduled task: how often it runs, and the verb that does it and returns a sentence about what it did."""

    name: str
    every: timedelta
    run: Callable[[], str]
    about: str | Promise = ""  # shown in the console


sweeps: dict[str, Sweep] = {}


def register_sweep(name: str, *, every: timedelta, run: Callable[[], str], about: str | Promise = "") -> None:
    """Declare a sweep; called from an app's `ready()`."""
    sweeps[name] = Sweep(name, every, run, about)


def reconcile() -> None:
    """Make the schedule in the database match the code: new sweeps are due at once, removed ones are deleted."""
    SweepRun.objects.exclude(name__in=sweeps).delete()
    SweepRun.objects.bulk_create([SweepRun(name=name) for name in sweeps], ignore_conflicts=True)


def take_due() -> list[str]:
    """Return the sweeps that are due. Of several supervisors one gets each: the row count decides which."""
    due = []
    for sweep in sweeps.values():
        waiting = Q(taken_at=None) | Q(taken_at__lte=Now() - sweep.every)
        if SweepRun.objects.filter(waiting, name=sweep.name).update(taken_at=Now()):
            due.append(sweep.name)
    return due


def make_due(name: str) -> bool:
    """Make a sweep due now, for a supervisor to start it; return False if it is running or about to run."""
    ended = Q(started_at=None) | Q(finished_at__isnull=False) | Q(started_at__lt=Now() - ENDS_WITHIN)
    begun = Q(taken_at=None) | Q(started_at__gte=F("taken_at")) | Q(taken_at__lt=Now() - STARTS_WITHIN)
    SweepRun.objects.get_or_create(name=name)
    idle, due_since = SweepRun.objects.filter(ended, begun, name=name), Now() - sweeps[name].every
    # One that is due already stays so, with the time since which it is.
    return bool(idle.filter(taken_at__gt=due_since).update(taken_at=due_since)) or idle.exists()


def run_as_task(name: str) -> None:
    """Run a sweep in a cluster. If the database goes away meanwhile, it runs again when it is due next."""
    with interrupted_by_outages(f"sweep {name}"):
        run(name)


def run(name: str) -> str:
    """Run a sweep now and store its times and its result."""
    SweepRun.note(name, started_at=Now(), finished_at=None, succeeded=None, result="")
    try:
        with acting_as(f"sweep:{name}"):
            result = sweeps[name].run()
    except Exception as error:
        with suppress(*DATABASE_DOWN):  # the error itself says more than that it could not be stored
            SweepRun.note(name, finished_at=Now(), succeeded=False, result=f"{type(error).__name__}: {error}"[:1000])
        raise
    SweepRun.note(name, finished_at=Now(), succeeded=True, result=result)
    logger.info("sweep %s: %s", name, result)
    return result
