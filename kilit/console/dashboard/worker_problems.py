"""Workers that stopped and scheduled tasks that are late, as problems; the banner of every page shows the first."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.dashboard.workers_page import RunnerStatus, ScheduledTask, SupervisorStatus, Workers
from kilit.console.machine_errors import explain
from kilit.lock.clock import database_time
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Place, Problem, Severity, name_or_fold, problem_key, with_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

PERMISSIONS = ("workers.view_heartbeat", "workers.view_sweeprun")
Process = SupervisorStatus | RunnerStatus
WORKERS, TASKS = "workers", "tasks"


def find(user: "User | AnonymousUser") -> Iterator[Problem]:
    if user.has_perms(PERMISSIONS):
        workers = Workers.with_tasks_at(database_time())
        yield from stopped_workers(workers)
        yield from late_tasks(workers)


def stopped_workers(workers: Workers) -> Iterator[Problem]:
    """Return one problem if nothing runs, else one for each process that stopped and was not replaced."""
    link = reverse("console:workers")
    lost: list[Process] = [each for each in workers.runners if _is_lost(each, workers.runners)]
    if workers.condition.is_bad:
        seen = [each.heartbeat.alive_at for each in workers.supervisors if each.heartbeat.alive_at]
        yield Problem(
            part=WORKERS,
            kind=ProblemKind.NO_WORKER,
            severity=Severity.CRITICAL,
            title=_("No worker is running"),
            cause=_("jobs wait and scheduled tasks do not run; start one with manage.py runworkers"),
            since=max(seen, default=None),
            link=link,
        )
    else:
        lost += [each for each in workers.supervisors if _is_lost(each, workers.supervisors)]
    for dead in lost:
        yield Problem(
            part=WORKERS,
            kind=ProblemKind.LOST_WORKER,
            name=_name(dead),
            severity=Severity.CRITICAL,
            title=_title(dead),
            cause=_("it was killed, or lost its machine or the database"),
            where=[Place(dead.host)],
            since=_alive_at(dead),
            link=link,
        )


def late_tasks(workers: Workers) -> list[Problem]:
    """Return what is late or failed; while no worker runs, only what failed, as all are late."""
    tasks = workers.failing_tasks
    if workers.condition.is_bad:
        tasks = [task for task in tasks if task.run.succeeded is False]
    link = reverse("console:workers")
    return name_or_fold(
        tasks,
        _task,
        lambda: Problem(
            part=TASKS,
            kind=ProblemKind.LATE_TASK,
            severity=Severity.SERIOUS,
            title=with_number(
                ngettext(
                    "%(number)s scheduled task is late or failed",
                    "%(number)s scheduled tasks are late or failed",
                    len(tasks),
                ),
                len(tasks),
            ),
            count=len(tasks),
            where=[Place(task.sweep.name, link=f"{link}#sweep-{task.sweep.name}") for task in tasks[:MOST_NAMED]],
            beyond=len(tasks) - MOST_NAMED,
            link=link,
            stands_for=[problem_key(TASKS, ProblemKind.LATE_TASK, task.sweep.name) for task in tasks],
        ),
    )


def _task(task: ScheduledTask) -> Problem:
    link = f"{reverse('console:workers')}#sweep-{task.sweep.name}"
    has_failed = task.run.succeeded is False and not task.is_late
    return Problem(
        part=TASKS,
        kind=ProblemKind.LATE_TASK,
        name=task.sweep.name,
        severity=Severity.SERIOUS,
        title=_("Scheduled task %(name)s: %(state)s") % {"name": task.sweep.name, "state": task.condition.word},
        cause=explain(task.run.result) if has_failed and task.run.result else task.condition.hint,
        since=task.run.finished_at if has_failed else task.next_at,
        link=link,
    )


def _is_lost(process: Process, others: Sequence[Process]) -> bool:
    """Return whether it stopped and no other one was started on its host: a killed one stays in the list for a day."""
    if not process.condition.is_bad:
        return False
    return not any(
        other.host == process.host and _started_at(other) > _started_at(process) and not other.condition.is_bad
        for other in others
        if _queue(other) == _queue(process)
    )


def _queue(process: Process) -> str:
    return process.runner.queue if isinstance(process, RunnerStatus) else ""


def _started_at(process: Process) -> datetime:
    return process.runner.started_at if isinstance(process, RunnerStatus) else process.heartbeat.started_at


def _alive_at(process: Process) -> datetime | None:
    return process.runner.alive_at if isinstance(process, RunnerStatus) else process.heartbeat.alive_at


def _name(process: Process) -> str:
    return process.runner.name if isinstance(process, RunnerStatus) else process.heartbeat.name


def _title(process: Process) -> str:
    if isinstance(process, RunnerStatus):
        return _("A runner does not respond · %(queue)s") % {"queue": process.queue}
    return _("A worker does not respond")
