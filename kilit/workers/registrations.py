"""The workers' metrics, and the lock's own sweeps: the lock is below the workers and cannot register them."""

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django_q.signals import post_execute

from kilit.lock import sweeps as lock_sweeps
from kilit.lock.free_text import FreeText, register_free_texts, register_scrubber
from kilit.lock.models import CountDelta, ErrorDelta
from kilit.workers import failed_tasks, heartbeat, metrics
from kilit.workers.models import SweepRun
from kilit.workers.sweeps import Sweep, register_sweeps

post_execute.connect(heartbeat.note_beat, dispatch_uid="kilit.workers.heartbeat")
register_free_texts(FreeText(SweepRun, ("result",)))
register_scrubber(failed_tasks.scrub)
metrics.registry.register(metrics.CountsCollector())
metrics.registry.register(metrics.OldestCollector())
metrics.registry.register(metrics.WorkersCollector())
register_sweeps(
    Sweep(
        "fold_counts",
        every=timedelta(minutes=1),
        run=lock_sweeps.fold_counts,
        about=_("Adds the changes of the last minute to totals and charts."),
        due=lambda: [CountDelta.objects.all()],
    ),
    Sweep(
        "fold_errors",
        every=timedelta(minutes=1),
        run=lock_sweeps.fold_errors,
        about=_("Adds the failures of the last minute to the error groups."),
        due=lambda: [ErrorDelta.objects.all()],
    ),
)


def register_pruning() -> None:
    if not settings.KEEP_FINISHED_DAYS:
        return
    register_sweeps(
        Sweep(
            "prune",
            every=timedelta(hours=1),
            run=lock_sweeps.prune,
            about=_("Deletes what finished longer ago than it is kept, with its events."),
        )
    )


register_pruning()
