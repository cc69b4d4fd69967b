"""What blocks a cutting job, and links to where it can be fixed."""

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kilit.console.formatting import ago
from kilit.console.jobs.blockers import (
    Blocker,
    blocked,
    ended,
    failed,
    held,
    lease_holdings,
    overdue,
    paused,
    ready,
    waiting,
)
from kilit.lock.models import Event
from kilit.spans import moment
from kilit.workers.models import Heartbeat, Runner
from orchestrator.admin.columns import warning_text
from orchestrator.admin.steps import preflight_address, rules_address
from orchestrator.errors import RULE_CODES, Code
from orchestrator.models import Job
from orchestrator.models.job import SLOT_TURN
from orchestrator.planning.rules import rules_error
from orchestrator.queue import QUEUE
from orchestrator.states import CANCELLABLE, JOBS, STARTED, JobState


def reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    yield from _reasons(job, timeline)
    if job.warning_code and job.status in CANCELLABLE:
        sentence = _(
            "%(warning)s. OptiPlanning cannot place them. Cancel the job and have the order sent again, corrected or "
            "with its plate size."
        )
        yield blocked(sentence % {"warning": warning_text(job)})


def _reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    match job.status:
        case JobState.DONE:
            yield ended(_("Done: the saw has it."))
        case JobState.HOLD:
            yield from _held_again(job, timeline)
            yield from (blocked(sentence, **_where(job)) for sentence in QUEUE.entry_of(job).sentences())
            if job.error_code == Code.OPERATOR_TRIGGER_REQUIRED and job.plate_size:
                yield blocked(_("Choose the plate %(width_mm)s × %(height_mm)s mm.") % job.plate_size)
        case JobState.FAILED:
            yield from failed(job, **_where(job))
        case _:
            yield from _working(job, timeline)


def _held_again(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    """Say that the last approval did not help, so that no one waits for what it did."""
    approvals = [event for event in timeline if event.event_type == "HOLD_APPROVED"]
    if approvals and approvals[-1].details.get("was") == job.error_code:
        sentence = _("Approved %(ago)s, and held again for the same reason.")
        yield blocked(sentence % {"ago": ago(approvals[-1].created_at)})


def _where(job: Job) -> dict[str, str]:
    """Return a link to where the cause can be seen, for everyone who may see the job."""
    if job.error_code in RULE_CODES:
        return {"link": _("Rules"), "href": rules_address(job)}
    if job.error_code == Code.TEMPLATE_INVALID:
        return {"link": _("Preflight"), "href": preflight_address()}
    return {}


def _working(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    is_due = Job.objects.due().filter(pk=job.pk).exists()
    if job.lease_until:
        yield held(job.lease_until, timeline, after=_("the scheduled task orchestrator_release_lapsed releases it"))
        if job.lease_until < timezone.now():
            yield from overdue("orchestrator_release_lapsed")
    elif not is_due:
        yield waiting(_("Next check at %(time)s.") % {"time": moment(job.next_run_at)})
    awaited = list(_awaited(job))
    yield from awaited
    if not job.lease_until:
        unattended = [*_paused(job), *_invalid_rules(), *_no_runner(job)]
        yield from unattended
        if not awaited and not unattended and is_due:
            yield ready(_("seconds"))


def _awaited(job: Job) -> Iterator[Blocker]:
    match job.status:
        case JobState.OPTI_IMPORTED:
            yield from _waits_for_slot(job)
        case JobState.OPTI_RUNNING:
            folder = {"folder": settings.OPTI_EXPORT_FOLDER}
            yield waiting(_("OptiPlanning was started. Waiting for its solution in %(folder)s.") % folder)
        case JobState.XML_READY:
            yield waiting(_("The saw has not answered yet (%(folder)s).") % {"folder": settings.SAW_FOLDER})


def _waits_for_slot(job: Job) -> Iterator[Blocker]:
    if job.xml_sha256:  # it only has to be delivered again
        return
    running = Job.objects.filter(status=JobState.OPTI_RUNNING)
    own_turn = Subquery(Job.objects.filter(pk=job.pk).values(turn=SLOT_TURN))
    earlier = Job.objects.waiting_for_slot().alias(turn=SLOT_TURN).filter(turn__lt=own_turn)
    for jobs, sentence in (
        (running, _("OptiPlanning runs one job at a time and is busy with another.")),
        (earlier.order_by("turn"), _("It is the turn of another order, by waiting time and priority.")),
    ):
        if other := jobs.only("pk", "order_id").first():
            link = _("Order %(order)s") % {"order": other.order_id}
            yield waiting(sentence, link=link, href=reverse("admin:orchestrator_job_change", args=[other.pk]))
            return


def _paused(job: Job) -> list[Blocker]:
    """What OptiPlanning or the saw already has goes on in a pause."""
    return [] if job.status in STARTED else paused(Job)


def _invalid_rules() -> Iterator[Blocker]:
    if error := rules_error():
        sentence = _("The rules are invalid. Processes that have not read valid rules before are waiting: %(error)s")
        where = {"link": _("Rules"), "href": reverse("admin:orchestrator_rulesversion_changelist")}
        yield blocked(sentence % {"error": error}, **where)


def _no_runner(job: Job) -> Iterator[Blocker]:
    """A runner can take every job; the workers only quick ones, and only where the folders are."""
    if Runner.objects.alive().filter(queue=JOBS.queue).exists():
        return
    if not settings.FLOOR_IS_HERE:
        sentence = _(
            "The folders are on another machine, and no runner is alive there: manage.py orchestrator_tick --watch."
        )
    elif job.takes_long():
        sentence = _("The next step takes long, and no runner is alive: manage.py orchestrator_tick --watch.")
    elif Heartbeat.objects.alive().exists():
        return
    else:
        sentence = _("No worker and no runner is alive: manage.py runworkers, or orchestrator_tick --watch.")
    yield blocked(sentence, link=_("Workers"), href=reverse("console:workers"))


def holdings(job: Job) -> list[tuple[str, object]]:
    facts = lease_holdings(job)
    if job.status == JobState.OPTI_RUNNING:
        facts.append((_("Slot"), _("OptiPlanning (one job at a time)")))
    if job.open_deliveries and job.status == JobState.FAILED:
        facts.append((_("The saw may have"), ", ".join(map(str, job.open_deliveries))))
    if job.delivery_names and job.status in (JobState.XML_READY, JobState.DELIVERED, JobState.DONE):
        facts.append((_("Delivered to the saw as"), ", ".join(map(str, job.delivery_names))))
    return facts
