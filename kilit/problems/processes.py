"""Background processes, doorbells and scheduled tasks, each with its condition in words."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from kilit.batches.queues import queues
from kilit.database.sql import read_row
from kilit.problems.registry import once
from kilit.sentences import translated
from kilit.workers.doorbells import RING_AGAIN_AFTER, doorbells
from kilit.workers.models import ALIVE_FOR, Bell, Heartbeat, Runner, SweepRun
from kilit.workers.sweeps import ENDS_WITHIN, STARTS_WITHIN, Sweep, sweeps

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Every page shows whether workers run: a page reads these small tables with what else it reads first.
READ_TOGETHER: tuple[Any, ...] = (Heartbeat, Runner, SweepRun)
TABLE = "(SELECT coalesce(jsonb_agg(part), '[]')::text FROM NAME AS part)"
TABLES = ", ".join(TABLE.replace("NAME", model._meta.db_table) for model in READ_TOGETHER)
PROCESS_STARTS_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True)
class Condition:
    word: str
    colour: str
    hint: str

    @property
    def is_bad(self) -> bool:
        return self.colour == "danger"


@dataclass(frozen=True)
class ProcessStatus:
    """A supervisor with its workers, or the runner of one queue."""

    process: Heartbeat | Runner
    now: datetime

    @property
    def host(self) -> str:
        return self.process.name.rsplit(":", 2)[0]

    @property
    def queue(self) -> "StrOrPromise":
        """Return the title of the queue that a runner works."""
        name = self.process.queue if isinstance(self.process, Runner) else ""
        return queues[name].title if name in queues else name

    @property
    def silence(self) -> str:
        """Return what is said while it does not respond."""
        if self.queue:
            return _("A runner does not respond · %(queue)s") % {"queue": self.queue}
        return _("A worker does not respond")

    @property
    def condition(self) -> Condition:
        alive_at, started_at = self.process.alive_at, self.process.started_at
        hindrance = getattr(self.process, "hindrance", "")
        if alive_at and alive_at > self.now - ALIVE_FOR and hindrance:
            return Condition(_("takes no jobs"), "warning", translated(hindrance))
        if alive_at and alive_at > self.now - ALIVE_FOR:
            looks = _("It looks for due jobs when something changes, and every few seconds.")
            return Condition(_("running"), "success", looks if self.queue else _("Its workers process tasks."))
        if alive_at is None and started_at > self.now - PROCESS_STARTS_WITHIN:
            return Condition(_("starting"), "info", _("It was just started; its first task is on the way."))
        hint = _("No heartbeat: it was killed, or lost its machine or the database. It is removed after a day.")
        return Condition(_("not responding"), "danger", hint)


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


def read_tables(texts: Iterable[str]) -> list[list[Any]]:
    """Return the rows that `TABLES` selects."""
    return [
        [model(**{name: model._meta.get_field(name).to_python(value) for name, value in row.items()}) for row in rows]
        for model, rows in zip(READ_TOGETHER, map(json.loads, texts), strict=True)
    ]


def _newest_first(process: Heartbeat | Runner) -> tuple[float, str]:
    return -process.started_at.timestamp(), process.name


@dataclass(frozen=True)
class Workers:
    """All background processes, at one moment."""

    supervisors: Sequence[ProcessStatus]
    runners: Sequence[ProcessStatus]
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
        """Read what may be a problem: processes and scheduled tasks."""
        beats, runners, runs = once(READ_TOGETHER, lambda: read_tables(read_row(f"SELECT {TABLES}")))
        by_name = {name: SweepRun(name=name) for name in sweeps} | {run.name: run for run in runs}
        return cls(
            supervisors=[ProcessStatus(beat, now) for beat in sorted(beats, key=_newest_first)],
            runners=[ProcessStatus(runner, now) for runner in sorted(runners, key=_newest_first)],
            tasks=[
                ScheduledTask(sweep, by_name.get(name) or SweepRun(name=name), now) for name, sweep in sweeps.items()
            ],
        )

    @property
    def failing_tasks(self) -> Sequence[ScheduledTask]:
        return [task for task in self.tasks if task.condition.is_bad]

    @property
    def condition(self) -> Condition:
        colours = {supervisor.condition.colour for supervisor in self.supervisors}
        if "success" in colours:
            hint = _("At least one supervisor processed a task in the last 30 seconds.")
            return Condition(_("running"), "success", hint)
        if "info" in colours:
            return Condition(_("starting"), "info", _("A supervisor was just started."))
        hint = _("Jobs wait and scheduled tasks do not run until a worker is started: manage.py runworkers.")
        return Condition(_("none running"), "danger", hint)
