"""The watching runner: works cutting jobs until it is stopped.

One thread takes quick steps, another those that wait for OptiPlanning, and one for each core to spare lets the built-in
optimiser plan.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import Error, connection
from django.db.models import Q

from kilit.database.origin import UnusableTables, refuse_unreleased
from kilit.database.outage import database_outage
from kilit.lock.audit import acting_as
from kilit.lock.outages import note_outage
from kilit.workers.due_rows import PreparedQuery, any_exists, exists_query
from kilit.workers.notifications import LATER, Poller, announce, announce_changes
from kilit.workers.presence import present
from orchestrator.cutting.places import places
from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.models.long_steps import to_plan
from orchestrator.saw.leftovers import LeftoverWatch
from orchestrator.states import JOBS
from orchestrator.workflow.runner import actor, hindrance, tick

logger = logging.getLogger(__name__)

RETRY = 1.0  # seconds between two tries without a database
# The quick thread looks for both. If it has not looked for this long, a folder blocks it, and the other one goes on.
STUCK_AFTER = 2 * LATER
NOW, SOON, TO_PLAN = "now", "soon", "to plan"


def watch(stop: threading.Event) -> None:
    announce_changes()
    while not stop.is_set() and not _safely(lambda: refuse_unreleased(connection)):
        stop.wait(RETRY)
    with present(JOBS.queue, hindrance=hindrance) as sign:
        watcher = Watcher(stop, sign)
        others = [threading.Thread(target=watcher.take_long_steps, name="patient")]
        others += [threading.Thread(target=watcher.plan, args=[wake], name="planner") for wake in watcher.planners]
        for thread in others:
            thread.start()
        watcher.take_quick_steps()
        for thread in others:
            thread.join()


class Watcher:
    def __init__(self, stop: threading.Event, sign: Callable[[], None]) -> None:
        self.stop, self.sign = stop, sign
        self.poller = Poller()
        self.looked_at = time.monotonic()
        self.has_due_jobs = threading.Event()
        self.planners = [threading.Event() for _ in range(places())]
        self.leftovers = LeftoverWatch()
        queries = {NOW: any_exists(due_now), SOON: any_exists(due_soon), TO_PLAN: any_exists(due_to_plan)}
        self.due_query = PreparedQuery(exists_query(queries))

    def stopping(self) -> bool:
        self.sign()  # called between two jobs, often during a long step, and while there is nothing to do
        return self.stop.is_set()

    def take_quick_steps(self) -> None:
        """Look for due jobs, wake the other thread if there are any, and take the steps that end soon."""
        while not self.stopping():
            if not _safely(self._look):
                self.stop.wait(RETRY)
        for wake in (self.has_due_jobs, *self.planners):
            wake.set()  # they have to stop, too
        connection.close()

    def take_long_steps(self) -> None:
        """Take the steps that wait for OptiPlanning, when the other thread has found due jobs."""
        while not self.stopping():
            if not self.has_due_jobs.wait(LATER) and time.monotonic() < self.looked_at + STUCK_AFTER:
                continue
            self.has_due_jobs.clear()
            _safely(lambda: self._work(patient=True, only=~to_plan()))
        connection.close()

    def plan(self, wake: threading.Event) -> None:
        """Let the built-in optimiser plan, when the first thread has found jobs for it."""
        while not self.stopping():
            if wake.wait(LATER):
                wake.clear()
                _safely(lambda: self._work(patient=True, only=to_plan()))
        connection.close()

    def _look(self) -> None:
        self.poller.wait(stopping=self.stopping)
        due = self.due_query.run(is_busy=self.poller.is_busy)
        self.looked_at = time.monotonic()
        if SOON in due:  # jobs that are due now are announced when they move on; perhaps none may
            self.poller.note_work()
        with acting_as(actor()):
            self.leftovers.look()
        for wake in self.planners if TO_PLAN in due else ():
            wake.set()
        if NOW in due:
            self.has_due_jobs.set()
            self._work(patient=False)

    def _work(self, *, patient: bool, only: Q | None = None) -> None:
        if tick(patient=patient, only=only, stopping=self.stopping):
            announce()


def due_now() -> list[JobQuerySet]:
    return [Job.objects.claimable(), Job.objects.next_for_slot(), Job.objects.lapsed()]


def due_to_plan() -> list[JobQuerySet]:
    return [Job.objects.claimable().filter(to_plan())]


def due_soon() -> list[JobQuerySet]:
    """Return what is due before the next look."""
    return [Job.objects.due_within(timedelta(seconds=LATER))]


def _safely(step: Callable[[], None]) -> bool:
    """Return whether a step was possible: an outage is logged once, and no error ends a thread."""
    try:
        step()
    except Error as error:
        note_outage(error)
        return False
    except UnusableTables:
        raise
    except Exception:  # if one thread ended here, the other would go on alone, unnoticed
        logger.exception("unexpected error in the runner")
        return False
    database_outage.end()
    return True
