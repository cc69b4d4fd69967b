"""What blocks a PDF job: the workers, the storage, a limit, or the jobs ahead of it."""

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.lock.models import Event
from kilit.problems import blockers
from kilit.problems.blockers import Blocker
from kilit.problems.registry import number
from kilit.spans import moment
from pdfjobs.enqueue import CHANGED
from pdfjobs.models import PdfJob
from pdfjobs.models.turns import TURN, most_running
from pdfjobs.states import PdfStatus
from pdfjobs.storage import artifacts

MOST_COUNTED = 1000


def reasons(row: PdfJob, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case PdfStatus.QUEUED:
            yield from _queued(row)
        case PdfStatus.RUNNING:
            yield from blockers.leased(
                row, timeline, task="pdf_reap", after=_("the scheduled task pdf_reap takes it back")
            )
        case PdfStatus.FAILED:
            yield from blockers.failed(row)
        case PdfStatus.SUCCEEDED if row.finished_at:
            kept_until = row.finished_at + settings.PDF_TTL
            yield blockers.ended(_("Succeeded. The PDF is kept until %(time)s.") % {"time": moment(kept_until)})
            if kept_until < timezone.now():
                yield from blockers.overdue("pdf_cleanup")
        case _ if any(event.message == CHANGED.stored for event in timeline):
            yield from _changed(row)
        case _:
            yield blockers.ended(_("Expired. The file and the variables are deleted."))


def _changed(row: PdfJob) -> Iterator[Blocker]:
    yield blockers.blocked(
        _("The stored file was changed after it was rendered. It is no longer served, and the job is expired.")
    )
    yield blockers.blocked(_("Request the document again to render a new PDF."))
    text = _("Find out who can write to the storage. Copy the changed file from %(folder)s within the hour.")
    yield blockers.blocked(text % {"folder": artifacts.folder_of(row.pk)})


def _queued(row: PdfJob) -> Iterator[Blocker]:
    if unable := [*blockers.paused(PdfJob), *blockers.no_worker()]:
        yield from unable
        return
    if reason := artifacts.reason_unavailable():
        text = _("PDF files cannot be stored. Workers continue when they can. The storage says: %(reason)s")
        yield blockers.blocked(text % {"reason": reason})
        return
    if row.queued_at > timezone.now():
        text = _("The PDF could not be stored. It is rendered again at %(time)s.")
        yield blockers.waiting(text % {"time": moment(row.queued_at)})
        return
    owners = PdfJob.objects.filter(owner=row.owner_id)
    limit = settings.PDF_JOBS_PER_OWNER
    if limit and owners.filter(status=PdfStatus.RUNNING).count() >= limit:
        text = ngettext(
            "Its owner has %(number)s running job, as many as KILIT_PDF_JOBS_PER_OWNER allows.",
            "Its owner has %(number)s running jobs, as many as KILIT_PDF_JOBS_PER_OWNER allows.",
            limit,
        )
        yield blockers.waiting(text % {"number": number(limit)})
        return
    running = PdfJob.objects.filter(status=PdfStatus.RUNNING)
    if owners.filter(status=PdfStatus.RUNNING).exists() and running.count() >= most_running():
        yield blockers.waiting(
            _("Its owner has a running job, and the last worker stays free for other owners (KILIT_PDF_FREE_WORKERS).")
        )
        return
    # Owners take turns, so the jobs of others do not say how long it waits.
    own_turn = PdfJob.objects.filter(pk=row.pk).values(turn=TURN)
    before = owners.due().alias(turn=TURN).filter(turn__lt=Subquery(own_turn))[: MOST_COUNTED + 1].count()
    if before:
        most = _("more than %(most)s") % {"most": number(MOST_COUNTED)}
        ahead = {"number": number(before) if before <= MOST_COUNTED else most}
        yield blockers.waiting(_("Waiting for a worker. Jobs of its owner ahead of it: %(number)s.") % ahead)
    else:
        yield blockers.ready(_("seconds"))
