"""Workers that stopped and scheduled tasks that are late, as problems; the banner of every page shows the first."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.lock.clock import database_time
from kilit.lock.guard import LifecycleModel
from kilit.lock.leases import LeasedModel
from kilit.lock.table import Kind
from kilit.machine_errors import explain
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, workers_path
from kilit.problems.processes import ProcessStatus, ScheduledTask, Workers
from kilit.problems.registry import MOST_NAMED, Place, Problem, Severity, once, problem_key, with_number
from kilit.workers.doorbells import doorbells

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

PERMISSIONS = ("workers.view_heartbeat", "workers.view_sweeprun")
WORKERS, TASKS = "workers", "tasks"
ALL_BUSY = gettext_lazy("the workers are busy with others: wait, or let more of them work (KILIT_WORKERS)")
TAKES_NONE = gettext_lazy("workers run and take none: a row's page says what blocks it, the workers' log what failed")
LATE_TASKS = ngettext_lazy(
    "%(number)s scheduled task is late or failed", "%(number)s scheduled tasks are late or failed", "count"
)


def find(user: "User | AnonymousUser") -> Iterator[Problem]:
    if user.has_perms(PERMISSIONS):
        workers = Workers.with_tasks_at(once("now", database_time))
        yield from stopped_workers(workers)
        yield from late_tasks(workers)


def stopped_workers(workers: Workers) -> Iterator[Problem]:
    """Return one problem if nothing runs, else one for each process that stopped and was not replaced."""
    lost = [status for status in workers.runners if _is_lost(status, workers.runners)]
    if workers.condition.is_bad:
        seen = [status.process.alive_at for status in workers.supervisors if status.process.alive_at]
        yield Problem(
            part=WORKERS,
            kind=ProblemKind.NO_WORKER,
            severity=Severity.CRITICAL,
            title=_("No worker is running"),
            cause=_("jobs wait and scheduled tasks do not run; start one with manage.py runworkers"),
            since=max(seen, default=None),
            link=workers_path(),
        )
    else:
        lost += [status for status in workers.supervisors if _is_lost(status, workers.supervisors)]
    for dead in lost:
        yield Problem(
            part=WORKERS,
            kind=ProblemKind.LOST_WORKER,
            name=dead.process.name,
            severity=Severity.CRITICAL,
            title=dead.silence,
            cause=_("it was killed, or lost its machine or the database"),
            where=[Place(dead.host)],
            since=dead.process.alive_at,
            link=workers_path(),
        )


def untaken_rows() -> list[QuerySet[Any]]:
    return [rows for bell in doorbells.values() for rows in bell.untaken().values()]


def find_untaken(user: "User | AnonymousUser") -> Iterator[Problem]:
    """Return a problem for each kind of rows that are due for long, with what is missing, while workers run."""
    workers = Workers.seen_at(once("now", database_time))
    if workers.condition.is_bad or not user.has_perms(PERMISSIONS):
        return
    unanswered = {ring.name for ring in workers.rings if ring.condition.colour == "warning"}
    for bell in doorbells.values():
        for model, rows in bell.untaken().items():
            if not rows.exists():
                continue
            is_busy = bell.name in unanswered or _is_taken_now(model)
            yield Problem(
                part=WORKERS,
                kind=ProblemKind.NOT_TAKEN,
                name=f"{bell.name}-{model._meta.model_name}",
                severity=Severity.WARNING if is_busy else Severity.CRITICAL,
                title=_("Due for more than ten minutes: %(rows)s") % {"rows": model._meta.verbose_name_plural},
                cause=str(ALL_BUSY if is_busy else TAKES_NONE),
                link=list_path(model),
            )


def _is_taken_now(model: type[LifecycleModel]) -> bool:
    is_leased = issubclass(model, LeasedModel)
    held = Q(lease_until__gt=Now()) if is_leased else Q(status__in=model.lifecycle.of_kind(Kind.HELD))
    return model._default_manager.filter(held).exists()


def late_tasks(workers: Workers) -> list[Problem]:
    """Return what is late or failed; while no worker runs, only what failed, as all are late."""
    tasks = workers.failing_tasks
    if workers.condition.is_bad:
        tasks = [task for task in tasks if task.run.succeeded is False]
    if len(tasks) <= MOST_NAMED:
        return [_late_task(task) for task in tasks]
    names = [task.sweep.name for task in tasks]
    return [
        Problem(
            part=TASKS,
            kind=ProblemKind.LATE_TASK,
            severity=Severity.SERIOUS,
            title=with_number(LATE_TASKS, len(tasks)),
            count=len(tasks),
            where=[Place(name, link=workers_path(name)) for name in names[:MOST_NAMED]],
            beyond=len(tasks) - MOST_NAMED,
            link=workers_path(),
            stands_for=[problem_key(TASKS, ProblemKind.LATE_TASK, name) for name in names],
        )
    ]


def _late_task(task: ScheduledTask) -> Problem:
    has_failed = task.run.succeeded is False and not task.is_late
    return Problem(
        part=TASKS,
        kind=ProblemKind.LATE_TASK,
        name=task.sweep.name,
        severity=Severity.SERIOUS,
        title=_("Scheduled task %(name)s: %(state)s") % {"name": task.sweep.name, "state": task.condition.word},
        cause=explain(task.run.result) if has_failed and task.run.result else task.condition.hint,
        since=task.run.finished_at if has_failed else task.next_at,
        link=workers_path(task.sweep.name),
    )


def _is_lost(status: ProcessStatus, others: Sequence[ProcessStatus]) -> bool:
    """Return whether it stopped and no other one was started on its host: a killed one stays in the list for a day."""
    if not status.condition.is_bad:
        return False
    return not any(
        other.host == status.host
        and other.process.started_at > status.process.started_at
        and not other.condition.is_bad
        and other.queue == status.queue
        for other in others
    )
