"""The watching runner: works cutting jobs until it is stopped, quick steps in one thread and long ones in another."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import Error, connection

from kilit.database.origin import UnusableTables, refuse_unreleased
from kilit.database.outage import database_outage
from kilit.lock.audit import acting_as
from kilit.lock.outages import ReadOnlyDatabase
from kilit.workers.due_rows import PreparedQuery, any_exists, exists_query
from kilit.workers.notifications import LATER, Poller, announce, announce_changes
from kilit.workers.presence import present
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.saw.leftovers import LeftoverWatch
from orchestrator.states import JOBS
from orchestrator.workflow.runner import actor, tick

logger = logging.getLogger(__name__)

RETRY = 1.0  # seconds between two tries without a database
# The quick thread looks for both. If it has not looked for this long, a folder blocks it, and the other one goes on.
STUCK_AFTER = 2 * LATER
NOW, SOON = "now", "soon"


def watch(stop: threading.Event) -> None:
    announce_changes()
    while not stop.is_set() and not _safely(lambda: refuse_unreleased(connection)):
        stop.wait(RETRY)
    with present(JOBS.queue) as sign:
        watcher = Watcher(stop, sign)
        patient = threading.Thread(target=watcher.take_long_steps, name="patient")
        patient.start()
        watcher.take_quick_steps()
        patient.join()


class Watcher:
    def __init__(self, stop: threading.Event, sign: Callable[[], None]) -> None:
        self.stop, self.sign = stop, sign
        self.poller = Poller()
        self.looked_at = time.monotonic()
        self.has_due_jobs = threading.Event()
        self.leftovers = LeftoverWatch()
        self.due_query = PreparedQuery(exists_query({NOW: any_exists(due_now), SOON: any_exists(due_soon)}))

    def stopping(self) -> bool:
        self.sign()  # called between two jobs, often during a long step, and while there is nothing to do
        return self.stop.is_set()

    def take_quick_steps(self) -> None:
        """Look for due jobs, wake the other thread if there are any, and take the steps that end soon."""
        while not self.stopping():
            if not _safely(self._look):
                self.stop.wait(RETRY)
        self.has_due_jobs.set()  # it has to stop, too
        connection.close()

    def take_long_steps(self) -> None:
        """Take the steps that wait for OptiPlanning, when the other thread has found due jobs."""
        while not self.stopping():
            if not self.has_due_jobs.wait(LATER) and time.monotonic() < self.looked_at + STUCK_AFTER:
                continue
            self.has_due_jobs.clear()
            _safely(lambda: self._work(patient=True))
        connection.close()

    def _look(self) -> None:
        self.poller.wait(stopping=self.stopping)
        due = self.due_query.run(is_busy=self.poller.is_busy)
        self.looked_at = time.monotonic()
        if due:
            self.poller.note_work()
        with acting_as(actor()):
            self.leftovers.look()
        if NOW in due:
            self.has_due_jobs.set()
            self._work(patient=False)

    def _work(self, *, patient: bool) -> None:
        if tick(patient=patient, stopping=self.stopping):
            announce()


def due_now() -> list[JobQuerySet]:
    return [Job.objects.claimable(), Job.objects.next_for_slot(), Job.objects.lapsed()]


def due_soon() -> list[JobQuerySet]:
    """Return what is due before the next look."""
    return [Job.objects.due_within(timedelta(seconds=LATER))]


def _safely(step: Callable[[], None]) -> bool:
    """Return whether a step was possible: an outage is logged once, and no error ends a thread."""
    try:
        step()
    except Error as error:
        if not isinstance(error, ReadOnlyDatabase):  # which is logged by the backend
            database_outage.begin(error)
        connection.close()
        return False
    except UnusableTables:
        raise
    except Exception:  # if one thread ended here, the other would go on alone, unnoticed
        logger.exception("unexpected error in the runner")
        return False
    database_outage.end()
    return True
