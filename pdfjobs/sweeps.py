"""The queue's chores by the clock: each is one verb with two doors, a command and the schedule."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.workers import doorbells, sweeps
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.work import BELL


def reap() -> str:
    """Take jobs away from dead workers, and call living ones to them."""
    outcome = PdfJob.objects.reap()
    if outcome.retried:
        doorbells.ring(BELL)
    return f"Reaped {len(outcome.failed)}, of which {len(outcome.retried)} are tried again."


def clean(*, ttl: timedelta | None = None) -> str:
    return cleanup.clean(ttl=ttl).told()


def register() -> None:
    sweeps.register(
        "pdf_reap",
        every=timedelta(seconds=15),
        run=reap,
        about=_("Takes jobs away from workers that died or hang."),
    )
    sweeps.register(
        "pdf_cleanup",
        every=timedelta(hours=1),
        run=clean,
        about=_("Ends old jobs and deletes files that nobody comes for."),
    )
