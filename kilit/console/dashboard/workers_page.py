"""Supervisors, runners, doorbells and scheduled tasks, instead of django-q2's own pages."""

from typing import TYPE_CHECKING, cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.lock.clock import database_time
from kilit.problems.processes import Workers
from kilit.problems.workers import PERMISSIONS
from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.sweeps import make_due, sweeps

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PROCESS_STARTS_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True)
class Condition:
    word: str
    colour: str
    hint: str

    @property
    def is_bad(self) -> bool:
        return self.colour == "danger"


def host_of(name: str) -> str:
    return name.rsplit(":", 2)[0]


def not_responding() -> Condition:
    hint = _("No heartbeat: it was killed, or lost its machine or the database. It is removed after a day.")
    return Condition(_("not responding"), "danger", hint)


@dataclass(frozen=True)
class SupervisorStatus:
    heartbeat: Heartbeat
    now: datetime

    @property
    def host(self) -> str:
        return host_of(self.heartbeat.name)

    @property
    def condition(self) -> Condition:
        alive_at, started_at = self.heartbeat.alive_at, self.heartbeat.started_at
        if alive_at and alive_at > self.now - ALIVE_FOR:
            return Condition(_("running"), "success", _("Its workers process tasks."))
        if alive_at is None and started_at > self.now - PROCESS_STARTS_WITHIN:
            return Condition(_("starting"), "info", _("It was just started; its first task is on the way."))
        return not_responding()


@dataclass(frozen=True)
class RunnerStatus:
    runner: Runner
    now: datetime

    @property
    def host(self) -> str:
        return host_of(self.runner.name)

    @property
    def queue(self) -> Text:
        return next((panel.title for panel in panels if panel.table.queue == self.runner.queue), self.runner.queue)

    @property
    def condition(self) -> Condition:
        if self.runner.alive_at > self.now - ALIVE_FOR:
            hint = _("It looks for due jobs when something changes, and every few seconds.")
            return Condition(_("running"), "success", hint)
        return not_responding()


@dataclass(frozen=True)
class ScheduledTask:
    sweep: Sweep
    run: SweepRun
    now: datetime

    @property
    def next_at(self) -> datetime | None:
        return self.run.taken_at + self.sweep.every if self.run.taken_at else None

    @property
    def is_late(self) -> bool:
        return self.next_at is not None and self.next_at + STARTS_WITHIN < self.now

    @property
    def took(self) -> timedelta | None:
        started_at, finished_at = self.run.started_at, self.run.finished_at
        return finished_at - started_at if started_at and finished_at else None

    @property
    def condition(self) -> Condition:
        if late := self._lateness():
            return Condition(late[0], "danger", late[1])
        if self.run.started_at and not self.run.finished_at:
            return Condition(_("running"), "info", _("A worker is running it."))
        if self.run.succeeded is False:
            return Condition(_("failed"), "danger", _("The result says why. It runs again at its next time."))
        if self.run.finished_at is None:
            return Condition(_("never ran"), "warning", _("It runs when a supervisor starts."))
        return Condition(_("OK"), "success", _("Its last run was on time and succeeded."))

    def _lateness(self) -> tuple[str, str] | None:
        taken_at, started_at, finished_at = self.run.taken_at, self.run.started_at, self.run.finished_at
        if self.is_late:
            return _("overdue"), _("It is due and no supervisor started it.")
        if started_at and not finished_at and started_at + ENDS_WITHIN < self.now:
            return _("interrupted"), _("Its worker died or was stopped while it ran.")
        if taken_at and (started_at is None or started_at < taken_at) and taken_at + STARTS_WITHIN < self.now:
            return _("not run"), _("A supervisor started it and no worker ran it.")
        return None


@dataclass(frozen=True)
class DoorbellStatus:
    name: str
    rung_at: datetime | None
    now: datetime

    @property
    def condition(self) -> Condition:
        if self.rung_at is None:
            return Condition(_("quiet"), "", _("It has not been rung since a worker last answered."))
        if self.rung_at > self.now - RING_AGAIN_AFTER:
            return Condition(_("ringing"), "info", _("A worker is on the way."))
        return Condition(_("unanswered"), "warning", _("All workers are busy, or none is running; it is rung again."))


@dataclass(frozen=True)
class Workers:
    supervisors: Sequence[SupervisorStatus]
    runners: Sequence[RunnerStatus]
    tasks: Sequence[ScheduledTask] = ()
    rings: Sequence[DoorbellStatus] = ()

    @classmethod
    def seen_at(cls, now: datetime) -> "Workers":
        """Read heartbeats, runs and rings; which tasks and doorbells there are comes from the code."""
        bells = {bell.name: bell.rung_at for bell in Bell.objects.all()}
        rings = [DoorbellStatus(name, bells.get(name), now) for name in sorted({*doorbells, *bells})]
        return replace(cls.with_tasks_at(now), rings=rings)

    @classmethod
    def with_tasks_at(cls, now: datetime) -> "Workers":
        runs = {run.name: run for run in SweepRun.objects.all()}
        tasks = [ScheduledTask(sweep, runs.get(name) or SweepRun(name=name), now) for name, sweep in sweeps.items()]
        return replace(cls.processes_at(now), tasks=tasks)

    @classmethod
    def processes_at(cls, now: datetime) -> "Workers":
        return cls(
            supervisors=[SupervisorStatus(beat, now) for beat in Heartbeat.objects.order_by("-started_at", "name")],
            runners=[RunnerStatus(runner, now) for runner in Runner.objects.order_by("-started_at", "name")],
        )

    @property
    def alive(self) -> int:
        return sum(supervisor.condition.colour == "success" for supervisor in self.supervisors)

    @property
    def watching(self) -> int:
        return sum(not watch.condition.is_bad for watch in self.runners)

    @property
    def silent(self) -> int:
        processes: list[SupervisorStatus | RunnerStatus] = [*self.supervisors, *self.runners]
        return sum(process.condition.is_bad for process in processes)

    @property
    def failing_tasks(self) -> Sequence[ScheduledTask]:
        return [task for task in self.tasks if task.condition.is_bad]

    @property
    def condition(self) -> Condition:
        if self.alive:
            hint = _("At least one supervisor processed a task in the last 30 seconds.")
            return Condition(_("running"), "success", hint)
        if any(supervisor.condition.colour == "info" for supervisor in self.supervisors):
            return Condition(_("starting"), "info", _("A supervisor was just started."))
        hint = _("Jobs wait and scheduled tasks do not run until a worker is started: manage.py runworkers.")
        return Condition(_("none running"), "danger", hint)


def may_see_workers(request: HttpRequest) -> bool:
    return request.user.has_perms(PERMISSIONS)


def may_run_tasks(request: HttpRequest) -> bool:
    return may_see_workers(request) and request.user.has_perm("workers.operate_sweeprun")


@require_safe
@never_cache
def workers_page(request: HttpRequest) -> HttpResponse:
    if not may_see_workers(request):
        raise PermissionDenied
    now = database_time()
    request.current_app = admin.site.name
    context = {
        "title": _("Workers and scheduled tasks"),
        "now": now,
        "workers": Workers.seen_at(now),
        "may_run": may_run_tasks(request),
        "is_fullwidth": "1",
    }
    return TemplateResponse(request, "admin/console/workers.html", {**admin.site.each_context(request), **context})


def run_task(request: HttpRequest, name: str) -> HttpResponse:
    if not may_run_tasks(request):
        raise PermissionDenied
    if name not in sweeps:
        raise Http404
    if request.method == "POST":  # logging in again leads here without the form
        with transaction.atomic():
            is_due = make_due(name)
            if is_due:
                run = SweepRun.objects.filter(name=name)
                user = cast("User", request.user)
                LogEntry.objects.log_actions(user.pk, run, CHANGE, "Run now.", single_object=True)
        if not is_due:
            messages.warning(request, _("%(task)s is running already.") % {"task": name})
        elif Heartbeat.objects.alive().exists():
            messages.success(request, _("%(task)s is due now; a worker runs it.") % {"task": name})
        else:
            messages.warning(request, _("%(task)s is due now. It runs when a worker is started.") % {"task": name})
    return HttpResponseRedirect(f"{reverse('console:workers')}#sweep-{name}")
