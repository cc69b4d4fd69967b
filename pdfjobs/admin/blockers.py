"""What is blocking a PDF job, for its page."""

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import number as grouped
from kilit.console.jobs.blockers import (
    Blocker,
    blocked,
    ended,
    held,
    no_worker,
    overdue,
    paused,
    ready,
    waiting,
)
from kilit.lock.models import Event
from kilit.spans import moment
from pdfjobs.admin.columns import remedy
from pdfjobs.enqueue import CHANGED
from pdfjobs.models import PdfJob
from pdfjobs.models.turns import TURN, most_running
from pdfjobs.states import PDF_JOBS, PdfStatus
from pdfjobs.storage import artifacts

MOST_COUNTED = 1000


def reasons(row: PdfJob, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case PdfStatus.QUEUED:
            yield from _queued(row)
        case PdfStatus.RUNNING if row.lease_until:
            yield held(row.lease_until, timeline, after=_("the scheduled task pdf_reap takes it back"))
            if row.lease_until < timezone.now():
                yield from overdue("pdf_reap") or no_worker()
        case PdfStatus.FAILED:
            yield blocked(_("Failed. It will not be retried automatically."))
            yield blocked(remedy(row))
        case PdfStatus.SUCCEEDED if row.finished_at:
            kept_until = row.finished_at + settings.PDF_TTL
            yield ended(_("Succeeded. The PDF is kept until %(time)s.") % {"time": moment(kept_until)})
            if kept_until < timezone.now():
                yield from overdue("pdf_cleanup")
        case _ if any(event.message == CHANGED for event in timeline):
            yield from _changed(row)
        case _:
            yield ended(_("Expired. The file and the variables are deleted."))


def _changed(row: PdfJob) -> Iterator[Blocker]:
    yield blocked(
        _("The stored file was changed after it was rendered. It is no longer served, and the job is expired.")
    )
    yield blocked(_("Request the document again to render a new PDF."))
    text = _(
        "Find out who can write to the storage. The changed file is in %(folder)s there until the hourly cleanup "
        "deletes it; copy it before."
    )
    yield blocked(text % {"folder": artifacts.folder_of(row.pk)})


def _queued(row: PdfJob) -> Iterator[Blocker]:
    if unable := [*paused(PDF_JOBS, reverse("admin:pdfjobs_pdfjob_changelist")), *no_worker()]:
        yield from unable
        return
    if artifacts.is_unavailable():
        yield blocked(_("The storage of PDF files does not answer. Workers continue when it does."))
        return
    owners = PdfJob.objects.filter(owner=row.owner_id)
    limit = settings.PDF_JOBS_PER_OWNER
    if limit and owners.filter(status=PdfStatus.RUNNING).count() >= limit:
        text = ngettext(
            "Its owner has %(number)s running job, as many as KILIT_PDF_JOBS_PER_OWNER allows.",
            "Its owner has %(number)s running jobs, as many as KILIT_PDF_JOBS_PER_OWNER allows.",
            limit,
        )
        yield waiting(text % {"number": grouped(limit)})
        return
    running = PdfJob.objects.filter(status=PdfStatus.RUNNING)
    if owners.filter(status=PdfStatus.RUNNING).exists() and running.count() >= most_running():
        yield waiting(
            _("Its owner has a running job, and the last worker stays free for other owners (KILIT_PDF_FREE_WORKERS).")
        )
        return
    # Owners take turns, so the jobs of others do not say how long it waits.
    mine = PdfJob.objects.filter(pk=row.pk).values(turn=TURN)
    before = owners.due().alias(turn=TURN).filter(turn__lt=Subquery(mine))[: MOST_COUNTED + 1].count()
    if before:
        most = _("more than %(most)s") % {"most": grouped(MOST_COUNTED)}
        number = grouped(before) if before <= MOST_COUNTED else most
        yield waiting(_("Waiting for a worker. Jobs of its owner ahead of it: %(number)s.") % {"number": number})
    else:
        yield ready(_("seconds"))
