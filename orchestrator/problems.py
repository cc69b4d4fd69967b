"""What may be wrong with cutting jobs: failures, jobs that wait too long or for a person, invalid rules."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, Min, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.lock.audit import actor_in_words
from kilit.lock.models.error_groups import Cause, failures_of
from kilit.masking import mask_phone
from kilit.problems.failures import FailedRows, FailureLines, Step, causes_of, group_action, review
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path, row_path
from kilit.problems.queues import StuckJobs, register_queue_problems
from kilit.problems.registry import (
    MOST_NAMED,
    Place,
    Problem,
    ProblemAction,
    ProblemSource,
    Severity,
    number,
    once,
    with_number,
)
from kilit.shares import share
from orchestrator.blockers import hindered_runners, other_rules_somewhere, unattended
from orchestrator.cutting.low_stock import low_stock
from orchestrator.due import late_orders, perhaps_late_jobs
from orchestrator.errors import Code, WarningCode
from orchestrator.filters import FILTERS
from orchestrator.metrics import (
    ALARMING_SHARE,
    OPTIPLANNING,
    SAW,
    WAITS,
    held_share,
    jobs_with_others,
    wait_limits,
)
from orchestrator.models import BoardKind, Customer, Job, RulesVersion
from orchestrator.models.job import JobQuerySet
from orchestrator.planning.excel.template import is_template_invalid
from orchestrator.planning.plan import add_text
from orchestrator.planning.proposals import open_proposals
from orchestrator.planning.rules import rules_error, valid_rules
from orchestrator.planning.rules_history import changes, jobs_waiting_for_rules, missing_for, rules_file
from orchestrator.queue import QUEUE
from orchestrator.states import JOBS, JobState

# A runner looks every few seconds, and its quick thread is never blocked by OptiPlanning.
UNATTENDED_AFTER = timedelta(minutes=5)
SLOT_TAKEN_TOO_LONG = timedelta(minutes=10)
WARNED_COUNTED = 1000
HELD_COUNTED = 1000
MOST_HELD = 5
OVERDUE = {
    OPTIPLANNING: (ProblemKind.OPTIPLANNING_OVERDUE, gettext_lazy("OptiPlanning has worked on a job for too long")),
    SAW: (ProblemKind.SAW_OVERDUE, gettext_lazy("The saw does not answer")),
}
FAILED = ngettext_lazy("%(number)s cutting job failed", "%(number)s cutting jobs failed", "count")
ASK_AT_THE_SAW = ngettext_lazy(
    "%(number)s cutting job: ask at the saw whether it was cut",
    "%(number)s cutting jobs: ask at the saw whether they were cut",
    "count",
)
NEEDS_APPROVAL = ngettext_lazy(
    "%(number)s cutting job needs approval", "%(number)s cutting jobs need approval", "count"
)
ADD_CUSTOMERS = ngettext_lazy("Add %(number)s customer", "Add %(number)s customers", "count")
WAITS_FOR_OPTIPLANNING = ngettext_lazy(
    "%(number)s cutting job waits for OptiPlanning", "%(number)s cutting jobs wait for OptiPlanning", "count"
)
TOO_LARGE = ngettext_lazy(
    "%(number)s cutting job has parts larger than the plate",
    "%(number)s cutting jobs have parts larger than the plate",
    "count",
)
PASS_WITH_IT = ngettext_lazy(
    "%(number)s job on HOLD passes with them", "%(number)s jobs on HOLD pass with them", "count"
)
IS_KNOWN = Exists(Customer.objects.filter(phone=OuterRef("customer_phone")))
list_of_jobs = partial(list_path, Job)
of_cutting = partial(Problem, part=JOBS.queue)


def of_causes(reader: Any) -> Iterator[Problem]:
    causes = causes_of(QUEUE, reader)
    held = [cause for cause in causes if cause.state == JobState.HOLD]
    failed = [cause for cause in causes if cause.state == JobState.FAILED]
    unknown = [cause for cause in failed if cause.code == Code.HANDOVER_UNKNOWN]
    if unknown:
        yield _unknown_handovers(unknown, may_act=QUEUE.may_act(reader))
    lines = FailureLines(queue=QUEUE, title=FAILED, reader=reader)
    yield from lines.problems([cause for cause in failed if cause.code != Code.HANDOVER_UNKNOWN])
    yield from _held(held, reader)


def _places(jobs: list[Job]) -> list[Place]:
    return [Place(job.order_id, link=row_path(job)) for job in jobs]


def _unknown_handovers(causes: list[Cause], *, may_act: bool) -> Problem:
    """Return one line for the jobs that the saw may have cut; each of their messages names another file."""
    count = sum(cause.total for cause in causes)
    oldest = list(Job.objects.of_unknown_handover().order_by("error_code", "id").only("order_id")[:MOST_NAMED])
    everything = list_of_jobs(code=Code.HANDOVER_UNKNOWN)
    answered_at = row_path(oldest[0]) if len(oldest) == 1 else everything
    return of_cutting(
        kind=ProblemKind.HANDOVER_UNKNOWN,
        severity=Severity.SERIOUS,
        title=with_number(ASK_AT_THE_SAW, count),
        cause=_("the saw has not answered"),
        code=Code.HANDOVER_UNKNOWN,
        count=count,
        where=_places(oldest),
        beyond=max(0, count - len(oldest)),
        since=min(cause.first_at for cause in causes),
        link=everything,
        action=ProblemAction(_("Open"), answered_at) if may_act else None,
    )


@dataclass
class HeldJobs:
    """The oldest jobs on HOLD for one reason: orders by name, and unknown customers with the number of their jobs."""

    since: datetime | None = None
    count: int = 0
    places: dict[str, Place] = field(default_factory=dict)  # each leads to its oldest job
    unknown: set[str] = field(default_factory=set)  # phones that no customer has

    @classmethod
    def by_code(cls) -> "dict[str, HeldJobs]":
        columns = ("pk", "error_code", "updated_at", "order_id", "customer_phone", "customer_snapshot_name")
        rows = Job.objects.filter(status=JobState.HOLD).order_by("id").values_list(*columns, IS_KNOWN)
        codes: dict[str, HeldJobs] = {}
        for pk, code, since, order, phone, name, is_known in rows[:HELD_COUNTED]:
            held = codes.setdefault(code, cls(since))
            held.since, held.count = min(since, held.since or since), held.count + 1
            is_personal = code == Code.CRM_NO_MATCH
            held.unknown.update(() if is_known else (phone,))
            key, label = (phone, name or mask_phone(phone)) if is_personal else (order, order)
            before = held.places.get(key)
            held.places[key] = (
                replace(before, count=(before.count or 1) + 1)
                if before
                else Place(label, link=page_path(Job, "change", pk), is_personal=is_personal)
            )
        return codes


def _held(causes: list[Cause], reader: Any) -> Iterator[Problem]:
    counts = Counter[str]()
    for cause in causes:
        counts[cause.code] += cause.total
    by_code = once(HeldJobs, HeldJobs.by_code) if counts else {}
    for code, count in counts.items():
        held, entry = by_code.get(code) or HeldJobs(), QUEUE.entry(code, JobState.HOLD)
        places, filters = list(held.places.values()), {"status": JobState.HOLD.value, "code": code}
        is_single = len(places) == 1 and held.count == count
        everything = FailedRows(QUEUE, entry, code, JobState.HOLD, filters)
        title = WAITS_FOR_OPTIPLANNING if code == Code.OPERATOR_TRIGGER_REQUIRED else NEEDS_APPROVAL
        yield of_cutting(
            kind=ProblemKind.HOLD,
            name=code,
            severity=Severity.WARNING,
            title=with_number(title, count),
            cause=entry.label,
            code=code,
            advice=" ".join(entry.sentences()),
            count=count,
            where=places[:MOST_NAMED],
            beyond=max(0, len(places) - MOST_NAMED),
            since=held.since,
            link=places[0].link if is_single else list_of_jobs(**filters),
            action=_action(everything, places[0].link if is_single else "", reader),
        )


def _action(rows: FailedRows, only: str, reader: Any) -> ProblemAction | None:
    """Return what helps all the jobs, or else leads to the one job."""
    if not QUEUE.may_act(reader):
        return None
    return group_action(rows, reader) or (ProblemAction(_("Open"), only) if only else None)


def add_customers(_rows: FailedRows, reader: Any) -> ProblemAction | None:
    held = once(HeldJobs, HeldJobs.by_code)
    phones = held[Code.CRM_NO_MATCH].unknown if Code.CRM_NO_MATCH in held else set()
    if sum(jobs.count for jobs in held.values()) >= HELD_COUNTED:  # perhaps not all of them
        rows = Job.objects.with_unknown_customer().filter(~IS_KNOWN)
        phones = set(rows.values_list("customer_phone", flat=True)[:HELD_COUNTED])
    unknown = len(phones)
    if not unknown or not reader.has_perm("orchestrator.operate_customer"):
        return None
    return ProblemAction(with_number(ADD_CUSTOMERS, unknown), page_path(Job, "add_customers"))


def add_rules(rows: FailedRows, _reader: object) -> ProblemAction | None:
    """Lead to the rules while they lack what the oldest of the jobs need."""
    rules, link = valid_rules(), list_path(RulesVersion, code=rows.code)
    if rules is None:
        return ProblemAction(_("Open the rules"), link)
    missing = missing_for(jobs_waiting_for_rules([rows.code]), rules, most=MOST_NAMED)
    return ProblemAction(add_text(missing), link) if missing else None


def check_template(_rows: object, _reader: object) -> ProblemAction | None:
    preflight = f"{list_path(RulesVersion)}#preflight"
    return ProblemAction(_("Check the template"), preflight) if is_template_invalid() else None


def again(rows: FailedRows, _reader: object) -> ProblemAction:
    return review(rows, "approve" if rows.state == JobState.HOLD else "retry")


STEPS: dict[str, Step] = {
    "customers": add_customers,
    "rules": add_rules,
    "template": check_template,
    "again": again,
}


def many_on_hold(reader: Any) -> Iterator[Problem]:
    causes = [cause for cause in causes_of(QUEUE, reader) if cause.state == JobState.HOLD]
    line = partial(of_cutting, severity=Severity.SERIOUS, link=list_of_jobs(status=JobState.HOLD))
    is_share_watched = any(cause.code != Code.OPERATOR_TRIGGER_REQUIRED for cause in causes)
    if is_share_watched and (today := held_share()).share > ALARMING_SHARE:
        yield line(
            kind=ProblemKind.HELD_SHARE,
            title=_("%(share)s of the orders of the last 24 hours need approval")
            % {"share": share(round(100 * today.share))},
            cause=_("%(held)s of %(orders)s orders") % {"held": number(today.held), "orders": number(today.orders)},
            count=today.held,
        )
    if (held := sum(cause.total for cause in causes)) > MOST_HELD:
        cause = _("often they have one cause")
        yield line(kind=ProblemKind.MANY_ON_HOLD, title=with_number(NEEDS_APPROVAL, held), cause=cause, count=held)


def overdue(_reader: object) -> Iterator[Problem]:
    """A runner fails a job that is over its limit, so one that stays there has no runner."""
    for party, limit in wait_limits().items():
        jobs = Job.objects.filter(_is_overdue(party, limit))
        since = jobs.aggregate(since=Min(WAITS[party][1]))["since"]
        if since is None:
            continue
        kind, title = OVERDUE[party]
        minutes = {"minutes": f"{limit.total_seconds() / 60:g}"}
        yield of_cutting(
            kind=kind,
            severity=Severity.SERIOUS,
            title=str(title),
            cause=_("longer than the %(minutes)s minutes of the rules") % minutes,
            since=since,
            link=list_of_jobs(status=WAITS[party][0]),
        )


def _is_overdue(party: str, limit: timedelta) -> Q:
    state, column = WAITS[party]
    return Q(status=state, **{f"{column}__lt": Now() - limit})


def too_large(_reader: object) -> Iterator[Problem]:
    """Return a line for the jobs that can still be cancelled and have parts larger than their plate."""
    code, jobs = WarningCode.PART_EXCEEDS_PLATE, jobs_with_large_parts()
    oldest = list(jobs.only("order_id", "created_at", "warning_details")[:MOST_NAMED])
    if not oldest:
        return
    count = jobs.order_by()[:WARNED_COUNTED].count()
    yield of_cutting(
        kind=ProblemKind.PARTS_TOO_LARGE,
        name=code,
        severity=Severity.WARNING,
        title=with_number(TOO_LARGE, count),
        is_cause_personal=True,  # parts have names that people typed
        cause=", ".join((oldest[0].warning_details or {}).get("parts", [])[:MOST_NAMED]),
        code=code,
        count=count,
        where=_places(oldest),
        beyond=count - len(oldest),
        since=oldest[0].created_at,
        link=list_of_jobs(warning=code) if count > 1 else row_path(oldest[0]),
    )


def waiting_for_optiplanning(_reader: object) -> Iterator[Problem]:
    """Jobs take turns; say which one has OptiPlanning when the others wait for long."""
    waiting = jobs_before_optiplanning().exclude(pk__in=stuck_jobs(None).values("pk"))
    oldest = waiting.only("updated_at").first()
    if oldest is None or oldest.updated_at > timezone.now() - SLOT_TAKEN_TOO_LONG:
        return
    count = waiting.order_by().count()
    running = list(Job.objects.filter(status=JobState.OPTI_RUNNING).order_by("id").only("order_id")[:1])
    yield of_cutting(
        kind=ProblemKind.WAITING_FOR_OPTIPLANNING,
        severity=Severity.WARNING,
        title=with_number(WAITS_FOR_OPTIPLANNING, count),
        cause=_("one job at a time; now it works on") if running else _("it works on no job"),
        where=_places(running),
        count=count,
        since=oldest.updated_at,
        link=list_of_jobs(status=JobState.OPTI_IMPORTED),
    )


def invalid_rules(_reader: object) -> Iterator[Problem]:
    if error := rules_error():
        title, link = _("The cutting rules are invalid"), list_path(RulesVersion)
        yield of_cutting(
            kind=ProblemKind.INVALID_RULES, severity=Severity.CRITICAL, title=title, cause=error, link=link
        )


def proposed_rules(reader: Any) -> Iterator[Problem]:
    """Return a line for each proposal; an owner saves it where they read it."""
    may_save = reader.is_staff and reader.has_perm("orchestrator.change_rulesversion")
    for proposal in open_proposals():
        entries = [f"{change.path} {change.after}" for change in changes(rules_file().text, proposal.content)]
        page, effect = list_path(RulesVersion), with_number(PASS_WITH_IT, proposal.released_jobs)
        yield of_cutting(
            kind=ProblemKind.RULES_PROPOSED,
            name=str(proposal.pk),
            severity=Severity.WARNING,
            title=_("%(who)s proposes new cutting rules") % {"who": actor_in_words(proposal.actor)},
            cause=" · ".join([*entries[:MOST_NAMED], effect, proposal.reason]),
            since=proposal.created_at,
            link=f"{page}#proposal-{proposal.pk}",
            action=ProblemAction(_("Save"), f"{page}?accept={proposal.pk}", is_done_at_once=True) if may_save else None,
        )


def jobs_with_large_parts() -> JobQuerySet:
    condition = FILTERS["warning"].condition(WarningCode.PART_EXCEEDS_PLATE)
    return Job.objects.filter(condition).order_by("warning_code", "id")


def jobs_before_optiplanning() -> JobQuerySet:
    return Job.objects.filter(status=JobState.OPTI_IMPORTED).order_by("id")


def unattended_jobs() -> JobQuerySet:
    return Job.objects.claimable().filter(next_run_at__lt=Now() - UNATTENDED_AFTER)


def stuck_jobs(_reader: object) -> JobQuerySet:
    # Each half uses its own index.
    both = unattended_jobs().values("pk").union(Job.objects.lapsed().values("pk"), all=True)
    rows: JobQuerySet = Job.objects.defer("payload").filter(pk__in=both).order_by("next_run_at")
    for party, limit in wait_limits().items():  # these have lines of their own
        rows = rows.exclude(_is_overdue(party, limit))
    return rows


STUCK = StuckJobs(
    queue=QUEUE,
    severity=Severity.SERIOUS,
    rows=stuck_jobs,
    title=ngettext_lazy("%(number)s cutting job is stuck", "%(number)s cutting jobs are stuck", "count"),
    cause=gettext_lazy("due for more than 5 minutes without a runner, or held by a dead runner"),
    missing=lambda job: " ".join(blocker.sentence for blocker in unattended(job)),
    since="next_run_at",
    place="order_id",
    filters={},
)
register_queue_problems(
    QUEUE,
    ProblemSource(invalid_rules),
    ProblemSource(other_rules_somewhere, lambda: [RulesVersion.objects.all(), hindered_runners()]),
    ProblemSource(proposed_rules, lambda: [open_proposals()]),
    ProblemSource(overdue, lambda: [jobs_with_others()]),
    ProblemSource(too_large, lambda: [jobs_with_large_parts()]),
    ProblemSource(late_orders, lambda: [perhaps_late_jobs()]),
    ProblemSource(low_stock, lambda: [BoardKind.objects.below_least()]),
    ProblemSource(waiting_for_optiplanning, lambda: [jobs_before_optiplanning()]),
    ProblemSource(many_on_hold, lambda: failures_of(JOBS.queue), is_sum=True),
    failed=ProblemSource(of_causes, lambda: failures_of(JOBS.queue)),
    stuck=STUCK.source(lambda: [unattended_jobs(), Job.objects.lapsed()]),
    steps=STEPS,
)
