"""What may be wrong with PDF jobs."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.lock.models import Activity, Count
from kilit.problems.failures import failures
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path
from kilit.problems.queues import StuckJobs, register_queue_problems
from kilit.problems.registry import Problem, ProblemSource, Severity, with_number
from pdfjobs.models import PdfJob
from pdfjobs.queue import QUEUE
from pdfjobs.rendering import sandbox_warning
from pdfjobs.states import FILE_CHANGED, PDF_JOBS, PdfStatus

SHOWN_FOR = timedelta(days=1)
WAITING = ngettext_lazy("%(number)s job is waiting", "%(number)s jobs are waiting", "count")
CHANGED = ngettext_lazy("%(number)s stored PDF was changed", "%(number)s stored PDFs were changed", "count")


def no_sandbox(_reader: object) -> Iterator[Problem]:
    if warning := sandbox_warning():
        yield Problem(
            part=PDF_JOBS.queue,
            kind=ProblemKind.NO_SANDBOX,
            severity=Severity.NOTICE,
            title=_("The browser runs without its sandbox"),
            cause=warning,
        )


def full_queue(_reader: object) -> Iterator[Problem]:
    waiting = Count.objects.by_state(queue=PDF_JOBS.queue)[PdfStatus.QUEUED]
    if waiting >= settings.PDF_QUEUE_LIMIT:
        yield Problem(
            part=PDF_JOBS.queue,
            kind=ProblemKind.QUEUE_FULL,
            severity=Severity.CRITICAL,
            title=_("The PDF queue is full: new jobs are rejected"),
            cause=with_number(WAITING, waiting),
            count=waiting,
            link=list_path(PdfJob, status=PdfStatus.QUEUED),
        )


def changed_files(_reader: object) -> Iterator[Problem]:
    if jobs := list(file_changes().values_list("object_id", "created_at")):
        yield Problem(
            part=PDF_JOBS.queue,
            kind=ProblemKind.FILE_CHANGED,
            severity=Severity.CRITICAL,
            title=with_number(CHANGED, len(jobs)),
            cause=_("the file is not the one that was rendered; it was not sent, and its job is expired"),
            count=len(jobs),
            since=jobs[0][1],
            link=page_path(PdfJob, "change", UUID(jobs[-1][0])),
        )


def file_changes() -> QuerySet[Activity]:
    recent = Activity.objects.whole().filter(queue=PDF_JOBS.queue, created_at__gt=Now() - SHOWN_FOR)
    return recent.filter(verb=FILE_CHANGED).order_by("created_at")


STUCK = StuckJobs(
    queue=QUEUE,
    rows=lambda _reader: PdfJob.objects.held_too_long().order_by("lease_until"),
    title=ngettext_lazy("%(number)s PDF job is stuck", "%(number)s PDF jobs are stuck", "count"),
    cause=gettext_lazy("their worker's lease lapsed; the scheduled task pdf_reap takes them back"),
    since="started_at",
)
register_queue_problems(
    QUEUE,
    ProblemSource(full_queue, lambda: [PdfJob.objects.due()]),
    ProblemSource(changed_files, lambda: [file_changes()]),
    ProblemSource(no_sandbox),
    failed=failures(QUEUE, title=ngettext_lazy("%(number)s PDF failed", "%(number)s PDFs failed", "count")),
    stuck=STUCK.source(),
)
