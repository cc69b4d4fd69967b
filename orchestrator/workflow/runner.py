"""The runner: claims the job that has been due longest, takes its steps, and releases it while it has to wait.

The command, the workers' doorbell and the watching runner (`watching`) all call `tick`.
"""

import errno
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import ClaimLost
from kilit.lock.models import Event
from kilit.lock.text import storable
from kilit.trace import job_trace
from orchestrator.errors import HOLD_CODES, Code, JobError
from orchestrator.folders import Sightings
from orchestrator.models import Job
from orchestrator.planning.rules import current_rules
from orchestrator.planning.rules_history import other_rules
from orchestrator.saw.saw_handover import fail, release_lapsed
from orchestrator.states import JOBS, JobState
from orchestrator.workflow.solutions import KeepAlive
from orchestrator.workflow.steps import STEPS, poll

logger = logging.getLogger(__name__)

OUTAGE_LIMIT = timedelta(minutes=5)
# Errors of an unmounted share or an unreachable server; a full disk or a missing permission is another matter.
OUTAGE_ERRNOS = {
    errno.ENOENT,
    errno.EIO,
    errno.ENODEV,
    errno.ENOTCONN,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
}
# The same as Windows error numbers: path, name or share not found, device gone, timeout, network unreachable.
OUTAGE_WINERRORS = {53, 59, 64, 67, 121, 1231}
LOG_EVERY = 60.0  # seconds between two log lines about the same problem
RENEW_EVERY = 2.0  # seconds; the program of a cancelled job may run on for this long
# A worker's task has a time limit; jobs that are still due ring again.
WORKERS_TURN = timedelta(seconds=30)
# These states wait for folders only; others have time limits of their own.
WAIT_FOR_FOLDERS = (JobState.NEW, JobState.PREPARED, JobState.OPTI_DONE)


@dataclass(frozen=True)
class CurrentJob:
    job: Job
    since: datetime


_by_thread: dict[int, CurrentJob] = {}


@contextmanager
def working_on(job: Job) -> Iterator[None]:
    thread = threading.get_ident()
    _by_thread[thread] = CurrentJob(job, timezone.now())
    try:
        yield
    finally:
        _by_thread.pop(thread, None)  # a tick within a tick has removed it


def current_jobs() -> list[CurrentJob]:
    return sorted(_by_thread.copy().values(), key=lambda current: current.since)


def is_short_outage(job_id: UUID, error: JobError) -> bool:
    """Return whether a job failed because its share has been away, for no longer than the limit."""
    cause = error.__cause__
    if error.code != Code.UNKNOWN or not isinstance(cause, OSError):  # a missing template has its own code
        return False
    if cause.errno not in OUTAGE_ERRNOS and getattr(cause, "winerror", None) not in OUTAGE_WINERRORS:
        return False
    if share_outages.unchanged_for(job_id) <= OUTAGE_LIMIT:
        return True
    share_outages.forget(job_id)
    return False


class Stopping(Exception):
    """The runner was asked to stop while OptiPlanning was running."""


share_outages = Sightings()  # by job
_logged_at: dict[str, float] = {}


def actor() -> str:
    return f"runner:{socket.gethostname()[:64]}:{os.getpid()}"


def tick(*, patient: bool, only: Q | None = None, stopping: Callable[[], bool] = lambda: False) -> int:
    """Work the due jobs one after the other, or only some of them; return how many were claimed.

    Only a patient caller waits for a plan to end; the others leave such jobs to it.
    """
    if not settings.FLOOR_IS_HERE:
        return 0  # the folders are on another machine
    release_lapsed()
    Job.objects.wake_next()
    worked = 0
    jobs = (Job.objects.all() if patient else Job.objects.quick()).filter(only or Q())
    while not stopping() and has_rules() and (job := jobs.claim()):
        with acting_as(actor()), working_on(job), job_trace(Event.objects.trace_of(job), "cutting job"):
            work(job, patient=patient, stopping=stopping)
        worked += 1
    return worked


def has_rules() -> bool:
    """Return whether there are rules to work by; the jobs of a machine without wait.

    Failing them would cost each a retry and take back the saw's files.
    """
    reason = hindrance()
    if reason and is_time_to_log(reason):
        logger.error("cutting jobs are waiting: %s", reason)
    return not reason


def hindrance() -> str:
    """Return why this process takes no jobs: its rules were never valid, or others were saved on another machine."""
    try:
        current_rules()
    except JobError as error:
        return error.message
    return other_rules()


def is_time_to_log(message: str) -> bool:
    """Return whether a message was not logged within the last minute; an outage would fill the log with it."""
    if _logged_at.get(message, -math.inf) > time.monotonic() - LOG_EVERY:
        return False
    _logged_at[message] = time.monotonic()
    return True


def work(job: Job, *, patient: bool, stopping: Callable[[], bool] = lambda: False) -> None:
    try:
        wait = take_steps(job, patient=patient, keep_alive=keeper(job, stopping))
    except (MoveRefused, ClaimLost):
        logger.warning("%s is now held by another runner", job)
    except (OperationalError, InterfaceError):
        raise  # without the database the job cannot be failed; its lease lapses
    except JobError as error:
        give_up(job, error)
    except Exception as error:
        logger.exception("%s failed", job)
        give_up(job, JobError(Code.UNKNOWN, f"{type(error).__name__}: {error}"))
    else:
        if wait is not None:
            job.release(next_run_at=Now() + wait)


def take_steps(job: Job, *, patient: bool, keep_alive: KeepAlive) -> timedelta | None:
    """Take one step after the other; return how long the job has to wait, or None if it is at rest."""
    while not job.is_with_people and (step := STEPS.get(job.status)):
        if not patient and job.takes_long():
            return timedelta(0)
        try:
            wait = step(job, keep_alive)
        except Stopping:
            return timedelta(0)  # the next runner starts OptiPlanning again
        except JobError as error:
            if job.status in WAIT_FOR_FOLDERS and is_short_outage(job.pk, error):
                return poll()
            raise
        if wait is not None:
            return wait
    return None


def keeper(job: Job, stopping: Callable[[], bool]) -> KeepAlive:
    """Return a function for long steps to call often: it renews the lease, and raises when the step must stop."""
    renewed_at = time.monotonic()

    def keep_alive() -> None:
        nonlocal renewed_at
        if stopping():
            raise Stopping
        if time.monotonic() > renewed_at + RENEW_EVERY:
            renewed_at = time.monotonic()
            job.renew()

    return keep_alive


def give_up(job: Job, error: JobError) -> None:
    may_hold = error.code in HOLD_CODES and "hold" in JOBS.verbs_from(job.status)
    with acting_as(actor(), reason=storable(error.message, 1000)):
        try:
            job.hold(error) if may_hold else fail(job, error)
        except (MoveRefused, ClaimLost):
            logger.warning("%s is now held by another runner", job)


def due_rows() -> "list[QuerySet[Job]]":
    """Return what the workers have to do: jobs that are due, or will be when `tick` wakes them."""
    quick = Job.objects.quick()
    return [quick.claimable(), quick.next_for_slot()]


def handle_bell() -> int:
    """Do the workers' part within the time limit of a task; return how many jobs were claimed."""
    end = time.monotonic() + WORKERS_TURN.total_seconds()
    return tick(patient=False, stopping=lambda: time.monotonic() > end)
