"""What is wrong with cutting jobs: failures, jobs that wait for a person or for OptiPlanning, invalid rules."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.dashboard.failure_problems import FailureLines
from kilit.console.dashboard.panels import Panel, StuckRows
from kilit.lock.models import Count, ErrorGroup
from kilit.lock.models.error_groups import Cause, failures_of
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Place, Problem, ProblemAction, ProblemSource, Severity, with_number
from kilit.workers.due_rows import DueRows
from orchestrator.admin import limit_problems
from orchestrator.admin.held_jobs import HeldJobs
from orchestrator.errors import NOT_RETRIED, Code, WarningCode
from orchestrator.filters import FILTERS
from orchestrator.metrics import jobs_with_others
from orchestrator.models import Job
from orchestrator.models.queryset import JobQuerySet
from orchestrator.planning.rules import rules_error
from orchestrator.states import FAILING, JOBS, JobState

# A runner looks every few seconds, and its quick thread is never blocked by OptiPlanning.
UNATTENDED_AFTER = timedelta(minutes=5)
WARNED_COUNTED = 1000
SLOT_TAKEN_TOO_LONG = timedelta(minutes=10)
ACTIONS = {Code.CRM_NO_MATCH: gettext_lazy("Add customer")}


@dataclass(frozen=True)
class CuttingProblems:
    panel: Panel
    may_act: bool

    def of_causes(self) -> Iterator[Problem]:
        """Return a line for each error of jobs that failed or are on HOLD."""
        causes = ErrorGroup.objects.causes(queue=JOBS.queue, states=FAILING, without=[Code.CANCELLED])
        failed = [cause for cause in causes if cause.state == JobState.FAILED]
        yield from self._unknown_handovers([cause for cause in failed if cause.code == Code.HANDOVER_UNKNOWN])
        yield from self._failures([cause for cause in failed if cause.code != Code.HANDOVER_UNKNOWN])
        held = [cause for cause in causes if cause.state == JobState.HOLD]
        yield from self._held(held)
        yield from limit_problems.many_on_hold(self.panel, held)

    def overdue(self) -> Iterator[Problem]:
        return limit_problems.overdue(self.panel)

    def _failures(self, causes: list[Cause]) -> list[Problem]:
        return FailureLines(
            part=JOBS.queue,
            title=lambda count: with_number(
                ngettext("%(number)s cutting job failed", "%(number)s cutting jobs failed", count), count
            ),
            list_of=lambda filters: self.panel.list_address(**filters),
            groups=self.panel.groups_address(),
            retry_of=self._retry,
            explain=lambda cause: _label(cause.code),
        ).problems(causes, timezone.now())

    def _unknown_handovers(self, causes: list[Cause]) -> Iterator[Problem]:
        """Return one line for the jobs that the saw may have cut; each of their messages names another file."""
        if not causes:
            return
        count = sum(cause.total for cause in causes)
        oldest = list(Job.objects.of_unknown_handover().order_by("error_code", "id").only("order_id")[:MOST_NAMED])
        everything = self.panel.list_address(code=Code.HANDOVER_UNKNOWN)
        answered_at = self.panel.row_address(oldest[0].pk) if len(oldest) == 1 else everything
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.HANDOVER_UNKNOWN,
            severity=Severity.SERIOUS,
            title=with_number(
                ngettext(
                    "%(number)s cutting job: ask at the saw whether it was cut",
                    "%(number)s cutting jobs: ask at the saw whether they were cut",
                    count,
                ),
                count,
            ),
            cause=_("the saw has not answered"),
            count=count,
            where=[Place(job.order_id, link=self.panel.row_address(job.pk)) for job in oldest],
            beyond=max(0, count - len(oldest)),
            since=min(cause.first_at for cause in causes),
            link=everything,
            action=ProblemAction(_("Open"), answered_at) if self.may_act else None,
        )

    def _retry(self, cause: Cause) -> str:
        may_help = self.may_act and cause.code not in NOT_RETRIED
        return self.panel.bulk_address("retry", group=cause.name) if may_help else ""

    def _held(self, causes: list[Cause]) -> Iterator[Problem]:
        """Return a line for each reason that jobs are on HOLD for."""
        counts = Counter[str]()
        for cause in causes:
            counts[cause.code] += cause.total
        held = HeldJobs.by_code(self.panel.row_address) if counts else {}
        for code, count in counts.items():
            known = held.get(code) or HeldJobs()
            everything = self.panel.list_address(status=JobState.HOLD, code=code)
            action = ProblemAction(_("Review and approve"), everything)
            if len(known.places) == 1 and known.count == count:  # one click leads to where it is solved
                action = ProblemAction(str(ACTIONS.get(Code(code), _("Open"))), known.places[0].link)
            yield Problem(
                part=JOBS.queue,
                kind=ProblemKind.HOLD,
                name=code,
                severity=Severity.WARNING,
                title=_held_title(code, count),
                cause=_label(code),
                count=count,
                where=known.places[:MOST_NAMED],
                beyond=max(0, len(known.places) - MOST_NAMED),
                since=known.since,
                link=everything,
                action=action if self.may_act else None,
            )

    def too_large(self) -> Iterator[Problem]:
        """Return a line for the jobs that can still be cancelled and have parts larger than their plate."""
        code, jobs = WarningCode.PART_EXCEEDS_PLATE, jobs_with_large_parts()
        oldest = list(jobs.only("order_id", "created_at", "warning_details")[:MOST_NAMED])
        if not oldest:
            return
        count = jobs.order_by()[:WARNED_COUNTED].count()
        everything = self.panel.list_address(warning=code)
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.PARTS_TOO_LARGE,
            name=code,
            severity=Severity.WARNING,
            title=with_number(
                ngettext(
                    "%(number)s cutting job has parts larger than the plate",
                    "%(number)s cutting jobs have parts larger than the plate",
                    count,
                ),
                count,
            ),
            is_cause_personal=True,  # parts have names that people typed
            cause=f"{code}: {', '.join((oldest[0].warning_details or {}).get('parts', [])[:MOST_NAMED])}",
            count=count,
            where=[Place(job.order_id, link=self.panel.row_address(job.pk)) for job in oldest],
            beyond=count - len(oldest),
            since=oldest[0].created_at,
            link=everything if count > 1 else self.panel.row_address(oldest[0].pk),
        )

    def waiting_for_optiplanning(self) -> Iterator[Problem]:
        """Jobs take turns; say which one has OptiPlanning when the others wait for long."""
        waiting = jobs_before_optiplanning().only("updated_at").first()
        if waiting is None or waiting.updated_at > timezone.now() - SLOT_TAKEN_TOO_LONG:
            return
        count = Count.objects.by_state(queue=JOBS.queue)[JobState.OPTI_IMPORTED]
        running = Job.objects.filter(status=JobState.OPTI_RUNNING).order_by("id").only("order_id").first()
        everything = self.panel.list_address(status=JobState.OPTI_IMPORTED)
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.WAITING_FOR_OPTIPLANNING,
            severity=Severity.WARNING,
            title=with_number(
                ngettext(
                    "%(number)s cutting job waits for OptiPlanning",
                    "%(number)s cutting jobs wait for OptiPlanning",
                    count,
                ),
                count,
            ),
            cause=_("one job at a time; now it works on") if running else _("it works on no job"),
            where=[Place(running.order_id, link=self.panel.row_address(running.pk))] if running else [],
            count=count,
            since=waiting.updated_at,
            link=everything,
        )

    def stuck(self) -> Iterator[Problem]:
        stuck = StuckRows.among(stuck_jobs())
        if stuck.count:
            (worst,) = stuck.worst
            yield Problem(
                part=JOBS.queue,
                kind=ProblemKind.STUCK,
                severity=Severity.SERIOUS,
                title=with_number(
                    ngettext("%(number)s cutting job is stuck", "%(number)s cutting jobs are stuck", stuck.count),
                    stuck.count,
                ),
                cause=_("due for more than 5 minutes without a runner, or held by a dead runner"),
                count=stuck.count,
                where=[Place(worst.order_id, link=self.panel.row_address(worst.pk))],
                beyond=stuck.count - 1,
                since=worst.next_run_at,
                link=self.panel.list_address(),
            )

    def invalid_rules(self) -> Iterator[Problem]:
        if error := rules_error():
            where = reverse("admin:orchestrator_rulesversion_changelist")
            yield Problem(
                part=JOBS.queue,
                kind=ProblemKind.INVALID_RULES,
                severity=Severity.CRITICAL,
                title=_("The cutting rules are invalid"),
                cause=error,
                link=where,
            )


def sources_of(panel: Panel) -> Iterator[ProblemSource]:
    def source(find: Callable[[CuttingProblems], Iterator[Problem]], rows: DueRows | None = None) -> ProblemSource:
        return ProblemSource(lambda user: find(CuttingProblems(panel, may_act=panel.queue.may_act(user))), rows)

    yield source(CuttingProblems.invalid_rules)
    yield source(CuttingProblems.of_causes, lambda: failures_of(JOBS.queue))
    yield source(CuttingProblems.overdue, lambda: [jobs_with_others()])
    yield source(CuttingProblems.too_large, lambda: [jobs_with_large_parts()])
    yield source(CuttingProblems.waiting_for_optiplanning, lambda: [jobs_before_optiplanning()])
    yield source(CuttingProblems.stuck, lambda: [unattended_jobs(), Job.objects.lapsed()])


def jobs_with_large_parts() -> JobQuerySet:
    condition = FILTERS["warning"].condition(WarningCode.PART_EXCEEDS_PLATE)
    return Job.objects.filter(condition).order_by("warning_code", "id")


def jobs_before_optiplanning() -> JobQuerySet:
    return Job.objects.filter(status=JobState.OPTI_IMPORTED).order_by("id")


def unattended_jobs() -> JobQuerySet:
    return Job.objects.claimable().filter(next_run_at__lt=Now() - UNATTENDED_AFTER)


def stuck_jobs() -> JobQuerySet:
    # Each half uses its own index.
    both = unattended_jobs().values("pk").union(Job.objects.lapsed().values("pk"), all=True)
    rows: JobQuerySet = Job.objects.defer("payload").filter(pk__in=both).order_by("next_run_at")
    return rows


def _held_title(code: str, count: int) -> str:
    if code == Code.OPERATOR_TRIGGER_REQUIRED:
        return with_number(
            ngettext(
                "%(number)s cutting job waits for OptiPlanning", "%(number)s cutting jobs wait for OptiPlanning", count
            ),
            count,
        )
    return with_number(
        ngettext("%(number)s cutting job needs approval", "%(number)s cutting jobs need approval", count), count
    )


def _label(code: str) -> str:
    return _(Code(code).label) if code in Code.values else code
