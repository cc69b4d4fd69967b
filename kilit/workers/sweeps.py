"""Sweeps: scheduled tasks, declared in code and reconciled with the database when a supervisor starts.

Most of them find nothing to do most of the time. Those that declare their `due` rows are then noted as run by the
statement that takes their turn, and no worker is troubled.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.functional import Promise

from kilit.lock.audit import acting_as
from kilit.lock.outages import DATABASE_DOWN, interrupted_by_outages
from kilit.workers.due_rows import BoundSql, DueRows, any_exists
from kilit.workers.models import SweepRun

logger = logging.getLogger(__name__)

# A task waits for a supervisor's next turn, and then for a free worker.
STARTS_WITHIN = timedelta(minutes=1)
# django-q2 ends a task a little after its timeout.
ENDS_WITHIN = timedelta(seconds=settings.TASK_TIMEOUT + 10)
NOTHING_TO_DO = "Nothing to do."

PREFIX = "scheduled task "  # of the names of sweeps, where names of bells are returned too

# Rows that another supervisor is taking are skipped. The rows of a sweep are looked for only if its time has come.
DUE = """
    FROM workers_sweeprun AS run JOIN unnest(%s::text[], %s::float8[]) AS sweep (name, seconds) USING (name)
    WHERE run.taken_at IS NULL OR run.taken_at <= statement_timestamp() - make_interval(secs => sweep.seconds)
"""
TAKE = """
    WITH due AS (
        SELECT run.name, CASE run.name {conditions} ELSE true END AS has_work {due} FOR UPDATE OF run SKIP LOCKED
    ),
    taken AS (
        UPDATE workers_sweeprun AS run SET
            taken_at = statement_timestamp(),
            started_at = CASE WHEN has_work THEN started_at ELSE statement_timestamp() END,
            finished_at = CASE WHEN has_work THEN finished_at ELSE statement_timestamp() END,
            succeeded = CASE WHEN has_work THEN succeeded ELSE true END,
            result = CASE WHEN has_work THEN result ELSE %s END
        FROM due WHERE run.name = due.name
        RETURNING run.name, due.has_work
    )
    SELECT %s::text || name FROM taken WHERE has_work
"""


@dataclass(frozen=True)
class SweepOption:
    """An option of a sweep's command, such as `--min-age-minutes`; `run` and `preview` get its value by `keyword`."""

    flag: str
    keyword: str
    type: Callable[[str], int]
    default: int | None = None
    unit: timedelta | None = None  # of a span
    help: str | None = None

    @property
    def name(self) -> str:
        return self.flag.strip("-").replace("-", "_")

    def value(self, number: int | None) -> "int | timedelta | None":
        return number * self.unit if self.unit and number is not None else number


class CronQuery(Protocol):
    def keywords(self) -> dict[str, timedelta]:
        """Return what `run` gets; without any, the sweep runs as scheduled."""


@dataclass(frozen=True)
class Cron:
    """The address of a sweep for callers with their own scheduler, below /api/cron/."""

    path: str
    about: str  # in OpenAPI
    rings: bool = False  # the bell of the same name: long work and calls to other services are done by workers
    query: type[CronQuery] | None = None
    older_path: str = ""


@dataclass(frozen=True)
class Sweep:
    """A scheduled task: how often it runs, and the verb that does it and returns a sentence about what it did.

    Its command, its address for schedulers and its row in the console are made from this.
    """

    name: str  # also of the command
    every: timedelta
    run: Callable[..., str]
    about: str | Promise = ""  # shown in the console
    due: DueRows | None = None  # without rows here there is nothing to do; None if only the run itself can find out
    by_hand: Callable[..., str] | None = None  # without the limits of a worker's task, for its command
    preview: Callable[..., str] | None = None  # returns what it would do, for --dry-run
    options: Sequence[SweepOption] = ()
    cron: Cron | None = None


sweeps: dict[str, Sweep] = {}


def register_sweeps(*some: Sweep) -> None:
    sweeps.update({sweep.name: sweep for sweep in some})


def reconcile() -> None:
    """Make the schedule in the database match the code: new sweeps are due at once, removed ones are deleted."""
    SweepRun.objects.exclude(name__in=sweeps).delete()
    SweepRun.objects.bulk_create([SweepRun(name=name) for name in sweeps], ignore_conflicts=True)


def take_statement() -> BoundSql:
    """Return the statement that takes due sweeps and names those with work; supervisors keep it."""
    conditions = {name: any_exists(sweep.due) for name, sweep in sweeps.items() if sweep.due}
    # CASE needs at least one branch.
    branches = " ".join(f"WHEN %s THEN {condition.sql}" for condition in conditions.values()) or "WHEN '' THEN true"
    params = [param for name, condition in conditions.items() for param in (name, *condition.params)]
    return BoundSql(TAKE.format(conditions=branches, due=DUE), (*params, *_schedule(), NOTHING_TO_DO, PREFIX))


def due_condition() -> BoundSql:
    return BoundSql(f"EXISTS (SELECT {DUE})", _schedule())


def _schedule() -> tuple[list[str], list[float]]:
    return list(sweeps), [sweep.every.total_seconds() for sweep in sweeps.values()]


def take_due() -> list[str]:
    """Return the sweeps to run now. Of several supervisors one gets each; those without due rows count as run."""
    return taken_in(take_statement().run())


def taken_in(names: Collection[str]) -> list[str]:
    return [name for name in sweeps if f"{PREFIX}{name}" in names]


def make_due(name: str) -> bool:
    """Make a sweep due now, for a supervisor to start it; return False if it is running or about to run."""
    ended = Q(started_at=None) | Q(finished_at__isnull=False) | Q(started_at__lt=Now() - ENDS_WITHIN)
    begun = Q(taken_at=None) | Q(started_at__gte=F("taken_at")) | Q(taken_at__lt=Now() - STARTS_WITHIN)
    SweepRun.objects.get_or_create(name=name)
    idle, due_since = SweepRun.objects.filter(ended, begun, name=name), Now() - sweeps[name].every
    # One that is due already stays so, with the time since which it is.
    return bool(idle.filter(taken_at__gt=due_since).update(taken_at=due_since)) or idle.exists()


def run_as_task(name: str) -> None:
    """Run a sweep in a cluster. If the database goes away meanwhile, it runs again when it is due next."""
    with interrupted_by_outages(f"sweep {name}"):
        run(name)


def run(name: str) -> str:
    SweepRun.note(name, started_at=Now(), finished_at=None, succeeded=None, result="")
    try:
        with acting_as(f"sweep:{name}"):
            result = sweeps[name].run()
    except Exception as error:
        with suppress(*DATABASE_DOWN):  # the error itself says more than that it could not be stored
            SweepRun.note(name, finished_at=Now(), succeeded=False, result=f"{type(error).__name__}: {error}"[:1000])
        raise
    SweepRun.note(name, finished_at=Now(), succeeded=True, result=result)
    logger.info("sweep %s: %s", name, result)
    return result
