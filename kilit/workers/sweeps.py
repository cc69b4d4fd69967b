"""Sweeps: chores that run by the clock, declared in code and reconciled with the database at start."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kilit.lock import pruning
from kilit.lock.audit import acting_as, for_reason
from kilit.lock.models import Count, ErrorGroup
from kilit.workers.models import SweepRun

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sweep:
    """A chore: how often it runs, and a verb that does it and returns what it did, in words."""

    name: str
    every: timedelta
    run: Callable[[], str]
    about: str | Promise = ""  # for the console: what it is good for


sweeps: dict[str, Sweep] = {}


def register(name: str, *, every: timedelta, run: Callable[[], str], about: str | Promise = "") -> None:
    """Declare a sweep; called from an app's `ready()`."""
    sweeps[name] = Sweep(name, every, run, about)


def register_own() -> None:
    """Declare the sweeps of the lock itself."""
    about = _("Adds what happened in the last minute to totals and charts.")
    register("fold_counts", every=timedelta(minutes=1), run=fold_counts, about=about)
    about = _("Adds what failed in the last minute to the error groups.")
    register("fold_errors", every=timedelta(minutes=1), run=fold_errors, about=about)
    if settings.KEEP_FINISHED_DAYS:
        about = _("Deletes conversions that ended long ago, with their events.")
        register("prune", every=timedelta(hours=1), run=prune, about=about)


def fold_counts() -> str:
    """Fold what is pending, batch by batch."""
    total = 0
    while folded := Count.objects.fold():
        total += folded
    return f"Folded {total}."


def fold_errors() -> str:
    """Fold what is pending of the error groups, batch by batch, and forget what is old."""
    total = 0
    while folded := ErrorGroup.objects.fold():
        total += folded
    ErrorGroup.objects.forget()
    return f"Folded {total}."


def prune() -> str:
    """Delete what was finished longer ago than the retention, for about a minute."""
    days = settings.KEEP_FINISHED_DAYS
    with for_reason(f"finished more than {days} days ago"):
        gone = pruning.prune(older_than=timedelta(days=days), seconds=pruning.TIME_FOR_ALL)
    return pruning.sentence(gone)


def reconcile() -> None:
    """Make the schedule in the database the one declared in code: what is new is due, what is gone is forgotten."""
    SweepRun.objects.exclude(name__in=sweeps).delete()
    SweepRun.objects.bulk_create([SweepRun(name=name) for name in sweeps], ignore_conflicts=True)


def take_due() -> list[str]:
    """Return the sweeps that are due, each to one supervisor only: the row count says to whom."""
    due = []
    for sweep in sweeps.values():
        waits = Q(taken_at=None) | Q(taken_at__lte=Now() - sweep.every)
        if SweepRun.objects.filter(waits, name=sweep.name).update(taken_at=Now()):
            due.append(sweep.name)
    return due


def run(name: str) -> str:
    """Run a sweep now, and write down when and what it said."""
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
