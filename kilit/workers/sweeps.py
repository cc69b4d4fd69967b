"""Sweeps: scheduled tasks, declared in code and reconciled with the database when a supervisor starts."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.functional import Promise

from kilit.lock.audit import acting_as
from kilit.workers.models import SweepRun

logger = logging.getLogger(__name__)


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


def run(name: str) -> str:
    """Run a sweep now and store its times and its result; also the task that a cluster runs."""
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
