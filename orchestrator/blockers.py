"""What blocks a cutting job."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.db.models import Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.lock.models import Event
from kilit.problems import blockers
from kilit.problems.blockers import Blocker
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, row_path, workers_path
from kilit.problems.registry import Place, Problem, Severity, number
from kilit.sentences import translated
from kilit.spans import ago, moment
from kilit.workers.models import Heartbeat, LifeQuerySet, Runner
from orchestrator.errors import RULE_CODES, Code, JobError
from orchestrator.folders import Folders
from orchestrator.models import Job, RulesVersion
from orchestrator.models.job import SLOT_TURN
from orchestrator.planning.rules import rules_error
from orchestrator.planning.rules_history import other_rules
from orchestrator.queue import QUEUE
from orchestrator.states import CANCELLABLE, JOBS, STARTED, JobState, Mode
from orchestrator.workflow.by_hand import boards_of

PARTS_NAMED = 10  # of those that are too large


def reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    yield from _reasons(job, timeline)
    if job.warning_code and job.status in CANCELLABLE:
        sentence = _("%(warning)s. Cancel the job and have the order sent again, corrected or with its plate size.")
        yield blockers.blocked(sentence % {"warning": warning_text(job)})


def _reasons(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    match job.status:
        case JobState.DONE:
            done = _("Done: cut by hand.") if job.by_hand else _("Done: the saw has it.")
            yield blockers.ended(translated(job.error_message) if job.is_cut_in_part else done)
        case JobState.HOLD:
            yield from _held_again(job, timeline)
            yield from (blockers.blocked(sentence, **_where(job)) for sentence in QUEUE.entry_of(job).sentences())
            if job.error_code == Code.OPERATOR_TRIGGER_REQUIRED and job.plate_size:
                yield blockers.blocked(_("Choose the plate %(width_mm)s × %(height_mm)s mm.") % job.plate_size)
        case JobState.FAILED:
            yield from blockers.failed(job, **_where(job))
        case _ if job.is_with_people:
            yield _to_be_cut(job)
        case _:
            yield from _working(job, timeline)


def _to_be_cut(job: Job) -> Blocker:
    boards = boards_of(job)
    counts = {"cut": number(job.boards_cut), "boards": number(boards)}
    if job.boards_cut:
        return blockers.blocked(
            _("Boards cut so far: %(cut)s of %(boards)s. Record the others when they are cut.") % counts
        )
    ready = ngettext(
        "The plan is ready: %(boards)s board. Cut it, then record it here.",
        "The plan is ready: %(boards)s boards. Cut them, then record it here.",
        boards,
    )
    return blockers.blocked(ready % counts)


def _held_again(job: Job, timeline: list[Event]) -> Iterator[Blocker]:
    """Say that the last approval did not help, so that no one waits for what it did."""
    approvals = [event for event in timeline if event.event_type == "HOLD_APPROVED"]
    if approvals and approvals[-1].details.get("was") == job.error_code:
        sentence = _("Approved %(ago)s, and held again for the same reason.")
        yield blockers.blocked(sentence % {"ago": ago(approvals[-1].created_at)})


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
        after = _("the scheduled task orchestrator_release_lapsed releases it")
        yield blockers.held(job.lease_until, timeline, after=after)
        if job.lease_until < timezone.now():
            yield from blockers.overdue("orchestrator_release_lapsed")
    elif not is_due:
        yield blockers.waiting(_("Next check at %(time)s.") % {"time": moment(job.next_run_at)})
    awaited = list(_awaited(job))
    yield from awaited
    if not job.lease_until:
        # What OptiPlanning or the saw already has goes on in a pause.
        pauses = [] if job.status in STARTED else blockers.paused(Job)
        causes = [*pauses, *unattended(job)]
        yield from causes
        if not awaited and not causes and is_due:
            yield blockers.ready(_("seconds"))


def _awaited(job: Job) -> Iterator[Blocker]:
    match job.status:
        case JobState.PREPARED if job.opti_mode == Mode.D:
            yield blockers.waiting(_being_planned(job))
        case JobState.OPTI_IMPORTED:
            yield from _waits_for_slot(job)
        case JobState.OPTI_RUNNING:
            folder = {"folder": settings.OPTI_EXPORT_FOLDER}
            yield blockers.waiting(_("OptiPlanning was started. Waiting for its solution in %(folder)s.") % folder)
        case JobState.XML_READY:
            yield blockers.waiting(
                _("The saw has not answered yet (%(folder)s).") % {"folder": Folders.at(job.saw).saw}
            )


def _being_planned(job: Job) -> str:
    """Return how far the built-in optimiser is; every two seconds it says what it has so far."""
    planning = job.planning if job.lease_until else None
    if not planning:
        return _("Waits for the built-in optimiser: it plans as many jobs at once as the machine has cores to spare.")
    began = datetime.fromisoformat(planning["since"])
    seconds = {"seconds": number(int((timezone.now() - began).total_seconds())), "most": number(planning["seconds"])}
    sentence = _("The built-in optimiser has planned for %(seconds)s seconds, of at most %(most)s.") % seconds
    if "bound" not in planning:
        return sentence
    best = _("Best plan so far: %(boards)s boards; fewer than %(bound)s are not possible.")
    return f"{sentence} {best % {'boards': number(planning['boards']), 'bound': number(planning['bound'])}}"


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
            yield blockers.waiting(sentence, link=link, href=row_path(other))
            return


def unattended(job: Job) -> list[Blocker]:
    """Return why no one works a due job: what is missing."""
    return [*_invalid_rules(), *_no_runner(job), *_other_rules()]


def hindered_runners() -> LifeQuerySet:
    return Runner.objects.alive().filter(queue=JOBS.queue).exclude(hindrance="")


def hindered_machines() -> dict[str, str]:
    """Return the machines, this one included, that take no jobs because of their rules, and why."""
    reasons = {runner.name.rsplit(":", 2)[0]: runner.hindrance for runner in hindered_runners()}
    with suppress(JobError):  # without any rules: that has a line of its own
        if own := other_rules():
            reasons[socket.gethostname()] = own
    return reasons


def other_rules_somewhere(_reader: object) -> Iterator[Problem]:
    """Return a problem for each machine that takes no jobs because of its rules."""
    for machine, reason in hindered_machines().items():
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.OTHER_RULES,
            name=machine,
            severity=Severity.CRITICAL,
            title=_("%(machine)s takes no cutting jobs") % {"machine": machine},
            cause=translated(reason),
            advice=_("Save the right rules on the page of the rules, and give every machine that file."),
            where=[Place(machine)],
            link=list_path(RulesVersion),
        )


def _other_rules() -> Iterator[Blocker]:
    if Runner.objects.alive().filter(queue=JOBS.queue, hindrance="").exists():
        return
    for reason in hindered_machines().values():
        yield blockers.blocked(translated(reason), link=_("Rules"), href=list_path(RulesVersion))


def _invalid_rules() -> Iterator[Blocker]:
    if error := rules_error():
        sentence = _("The rules are invalid. Processes that have not read valid rules before are waiting: %(error)s")
        where = {"link": _("Rules"), "href": list_path(RulesVersion)}
        yield blockers.blocked(sentence % {"error": error}, **where)


def _no_runner(job: Job) -> Iterator[Blocker]:
    """A runner can take every job; the workers only quick ones, and only where the folders are."""
    if Runner.objects.alive().filter(queue=JOBS.queue).exists():
        return
    if not settings.FLOOR_IS_HERE:
        sentence = _("No runner is alive on the machine of the folders: manage.py orchestrator_tick --watch.")
    elif job.takes_long():
        sentence = _("The next step takes long, and no runner is alive: manage.py orchestrator_tick --watch.")
    elif Heartbeat.objects.alive().exists():
        return
    else:
        sentence = _("No worker and no runner is alive: manage.py runworkers, or orchestrator_tick --watch.")
    yield blockers.blocked(sentence, link=_("Workers"), href=workers_path())


def warning_text(job: Job) -> str:
    if not job.warning_code:
        return ""
    details = job.warning_details or {}
    parts, beyond = list(details.get("parts", [])), details.get("beyond", 0)
    further = len(parts) - PARTS_NAMED + beyond
    names = ", ".join(parts[:PARTS_NAMED])
    if further > 0:
        names = _("%(names)s and %(number)s more") % {"names": names, "number": further}
    return _("Larger than the plate of %(plate)s: %(names)s") % {"plate": details.get("plate", "?"), "names": names}


def rules_address(job: Job) -> str:
    return list_path(RulesVersion, job=str(job.pk))


def preflight_address() -> str:
    return f"{list_path(RulesVersion)}#preflight"
