"""PDF jobs on the dashboard, and what is wrong with them."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.dashboard.failure_problems import FailureLines
from kilit.console.dashboard.panels import Panel, PanelItem, StuckRows
from kilit.lock.models import Activity, Count, ErrorGroup
from kilit.lock.models.error_groups import failures_of
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, ProblemSource, Severity, with_number
from pdfjobs.admin.columns import COLOURS
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.operations import QUEUE
from pdfjobs.rendering import sandbox_warning
from pdfjobs.states import FILE_CHANGED, PDF_JOBS, PdfStatus

SHOWN_FOR = timedelta(days=1)


class PdfPanel(Panel):
    title = gettext_lazy("PDF documents")
    icon = "picture_as_pdf"
    queue, colours = QUEUE, COLOURS
    well, badly = (PdfStatus.SUCCEEDED,), (PdfStatus.FAILED,)
    oldest_means = gettext_lazy("How long the oldest waiting job has been queued.")
    paused_title = gettext_lazy("PDF queue paused by %(person)s")
    note = gettext_lazy("Every failed attempt counts, even if the job was retried.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        row = PdfJob.objects.due().order_by("queued_at", "id").first()
        if row is None:
            return None
        name = row.document_number or f"…{row.job_id[-12:]}"
        return PanelItem(name, self.row_address(row.pk), row.template_name, row.queued_at)

    def problem_sources(self) -> Iterator[ProblemSource]:
        yield ProblemSource(self._failures, lambda: failures_of(PDF_JOBS.queue))
        yield ProblemSource(self._full_queue, lambda: [PdfJob.objects.due()])
        yield ProblemSource(self._stuck, lambda: [stuck_jobs()])
        yield ProblemSource(self._changed_files, lambda: [changed_files()])
        yield ProblemSource(self._no_sandbox)

    def _failures(self, user: User | AnonymousUser) -> list[Problem]:
        may_act = self.queue.may_act(user)
        causes = ErrorGroup.objects.causes(queue=PDF_JOBS.queue, states=[PdfStatus.FAILED])
        return FailureLines(
            part=PDF_JOBS.queue,
            title=lambda count: with_number(ngettext("%(number)s PDF failed", "%(number)s PDFs failed", count), count),
            list_of=lambda filters: self.list_address(**filters),
            groups=self.groups_address(),
            retry_of=lambda cause: self.bulk_address("retry", group=cause.name) if may_act else "",
        ).problems(causes, timezone.now())

    @staticmethod
    def _no_sandbox(_user: User | AnonymousUser) -> Iterator[Problem]:
        if warning := sandbox_warning():
            yield Problem(
                part=PDF_JOBS.queue,
                kind=ProblemKind.NO_SANDBOX,
                severity=Severity.NOTICE,
                title=_("The browser runs without its sandbox"),
                cause=warning,
            )

    def _full_queue(self, _user: User | AnonymousUser) -> Iterator[Problem]:
        waiting = Count.objects.by_state(queue=PDF_JOBS.queue)[PdfStatus.QUEUED]
        if waiting < settings.PDF_QUEUE_LIMIT:
            return
        everything = self.list_address(status=PdfStatus.QUEUED)
        yield Problem(
            part=PDF_JOBS.queue,
            kind=ProblemKind.QUEUE_FULL,
            severity=Severity.CRITICAL,
            title=_("The PDF queue is full: new jobs are rejected"),
            cause=with_number(ngettext("%(number)s job is waiting", "%(number)s jobs are waiting", waiting), waiting),
            count=waiting,
            link=everything,
        )

    def _changed_files(self, _user: User | AnonymousUser) -> Iterator[Problem]:
        jobs = list(changed_files().values_list("object_id", "created_at"))
        if jobs:
            yield Problem(
                part=PDF_JOBS.queue,
                kind=ProblemKind.FILE_CHANGED,
                severity=Severity.CRITICAL,
                title=with_number(
                    ngettext("%(number)s stored PDF was changed", "%(number)s stored PDFs were changed", len(jobs)),
                    len(jobs),
                ),
                cause=_("the file is not the one that was rendered; it was not sent, and its job is expired"),
                count=len(jobs),
                since=jobs[0][1],
                link=self.row_address(UUID(jobs[-1][0])),
            )

    def _stuck(self, _user: User | AnonymousUser) -> Iterator[Problem]:
        stuck = StuckRows.among(stuck_jobs())
        if stuck.count:
            everything = self.list_address(status=PdfStatus.RUNNING)
            yield Problem(
                part=PDF_JOBS.queue,
                kind=ProblemKind.STUCK,
                severity=Severity.WARNING,
                title=with_number(
                    ngettext("%(number)s PDF job is stuck", "%(number)s PDF jobs are stuck", stuck.count), stuck.count
                ),
                cause=_("their worker's lease lapsed; the scheduled task pdf_reap takes them back"),
                count=stuck.count,
                since=stuck.worst[0].started_at,
                link=everything,
            )


def stuck_jobs() -> PdfJobQuerySet:
    return PdfJob.objects.held_too_long().order_by("lease_until")


def changed_files() -> QuerySet[Activity]:
    found = Activity.objects.whole().filter(queue=PDF_JOBS.queue, created_at__gt=Now() - SHOWN_FOR)
    return found.filter(verb=FILE_CHANGED).order_by("created_at")
