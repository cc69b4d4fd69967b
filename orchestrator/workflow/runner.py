"""The runner: claims the job that is due longest, takes its steps, and lets go while it waits.

A command, the workers' bell and the watching runner call the same `tick`.
"""

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import ClaimLost
from kilit.workers.presence import present
from orchestrator.errors import HOLD_CODES, Code, JobError
from orchestrator.files.folders import Folders
from orchestrator.files.share_outages import ShareOutages
from orchestrator.models import Job
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import release_lapsed, take_back
from orchestrator.states import JOBS, JobState
from orchestrator.workflow.optimizing import KeepAlive
from orchestrator.workflow.step_context import poll
from orchestrator.workflow.steps import STEPS

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds
TELL_EVERY = 60.0  # seconds between two lines of the same complaint
RENEW_EVERY = 2.0  # seconds; so long the program of a cancelled job may outlive it
# A worker's task has an end; what is still due then rings again.
WORKERS_TURN = timedelta(seconds=30)


# Here nothing but folders is waited for; later states have times of their own.
UNSTARTED = (JobState.NEW, JobState.PREPARED)


class Stopping(Exception):  # noqa: N818 - a wish, not an error
    """Somebody asked the runner to stop while OptiPlanning was running."""


share_outages = ShareOutages()
_told: dict[str, float] = {}


def never() -> bool:
    return False


def tick(*, patient: bool, stopping: Callable[[], bool] = never) -> int:
    """Work what is due, one job after the other; return how often one was taken up.

    Only a patient caller waits for OptiPlanning to end; the others leave such jobs to it.
    """
    if not settings.FLOOR_IS_HERE:
        return 0  # every door comes through here, and the folders are on another machine
    release_lapsed()
    Job.objects.wake_next()
    if not has_rules():
        return 0
    worked = 0
    jobs = Job.objects.all() if patient else Job.objects.quick()
    while not stopping() and (job := jobs.claim()):
        with acting_as(f"runner:{socket.gethostname()[:64]}:{os.getpid()}"):
            work(job, patient=patient, stopping=stopping)
        worked += 1
    return worked


def has_rules() -> bool:
    """Tell whether there are rules to work by; a process that began with a broken file has not even old ones.

    Jobs wait for the file to be mended then: failed, each would cost a retry, and the saw's files would be taken back.
    """
    try:
        current_rules()
    except JobError as fault:
        if _told.get(fault.message, -math.inf) < time.monotonic() - TELL_EVERY:
            _told[fault.message] = time.monotonic()
            logger.error("cutting jobs wait: %s", fault.message)  # noqa: TRY400 - the words are all there is to say
        return False
    return True


def work(job: Job, *, patient: bool, stopping: Callable[[], bool] = never) -> None:
    """Take a held job as far as it goes now, and let go of it."""
    try:
        wait = take_steps(job, patient=patient, keep_alive=keeper(job, stopping))
    except (MoveRefused, ClaimLost):
        logger.warning("%s belongs to somebody else by now", job)
    except (OperationalError, InterfaceError):
        raise  # without the database nothing can be said about the job; its lease lapses
    except JobError as fault:
        give_up(job, fault)
    except Exception as error:
        logger.exception("%s failed", job)
        give_up(job, JobError(Code.UNKNOWN, f"{type(error).__name__}: {error}"))
    else:
        if wait is not None:
            job.release(next_run_at=Now() + wait)


def take_steps(job: Job, *, patient: bool, keep_alive: KeepAlive) -> timedelta | None:
    """Take one step after the other; return how long the job has to wait, or none when it rests."""
    while step := STEPS.get(job.status):
        if not patient and job.takes_long():
            return timedelta(0)
        try:
            wait = step(job, keep_alive)
        except Stopping:
            return timedelta(0)  # the next runner starts OptiPlanning again
        except JobError as fault:
            if job.status in UNSTARTED and share_outages.is_short(job.pk, fault):
                return poll()
            raise
        if wait is not None:
            return wait
    return None


def keeper(job: Job, stopping: Callable[[], bool]) -> KeepAlive:
    """Return what a long step calls often: it renews the lease now and then, and raises when it must not go on."""
    renewed_at = time.monotonic()

    def keep_alive() -> None:
        nonlocal renewed_at
        if stopping():
            raise Stopping
        if time.monotonic() > renewed_at + RENEW_EVERY:
            renewed_at = time.monotonic()
            job.renew()

    return keep_alive


def give_up(job: Job, fault: JobError) -> None:
    """Hold the job for a person when one can mend it, else fail it."""
    held = fault.code in HOLD_CODES and "hold" in JOBS.verbs_from(job.status)
    with acting_as(f"runner:{socket.gethostname()[:64]}:{os.getpid()}", reason=fault.message[:1000]):
        try:
            if job.status == JobState.XML_READY and job.delivery_names:
                job.renew()  # what another runner hands over is not ours to take back
                take_back(job, Folders.from_settings())
            (job.hold if held else job.fail)(fault)
        except (MoveRefused, ClaimLost):
            logger.warning("%s belongs to somebody else by now", job)


def is_due() -> bool:
    """Return whether the workers have something to do: a job is due, or one will be when `tick` wakes it."""
    quick = Job.objects.quick()
    return quick.due().exists() or quick.next_for_slot().exists()


def answer() -> None:
    """Do the workers' part, within the time of a task."""
    end = time.monotonic() + WORKERS_TURN.total_seconds()
    tick(patient=False, stopping=lambda: time.monotonic() > end)


def watch(stop: threading.Event) -> None:
    """Tick until told to stop: in one thread what is quick, in another what has to wait for OptiPlanning."""
    with present(JOBS.queue) as sign:
        patient = threading.Thread(target=_watch, args=(stop, sign), kwargs={"patient": True}, name="patient")
        patient.start()
        _watch(stop, sign, patient=False)
        patient.join()


def _watch(stop: threading.Event, sign: Callable[[], None], *, patient: bool) -> None:
    def stopping() -> bool:
        sign()  # asked between two jobs and often during a long step
        return stop.is_set()

    while not stopping():
        try:
            tick(patient=patient, stopping=stopping)
        except DatabaseError:
            logger.warning("the database does not answer", exc_info=True)
            connection.close()
        except Exception:  # a thread that ended here would leave the other one working alone, and nobody would notice
            logger.exception("the runner stumbled")
        stop.wait(LOOK_EVERY)
    connection.close()
