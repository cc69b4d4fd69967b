"""The supervisor: owns the cluster's process group, rings for due rows, and restarts a cluster without a heartbeat."""

import http.client
import logging
import math
import os
import re
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from types import FrameType
from typing import Any

import psutil
from django.conf import settings
from django.db import Error, connection
from django.db.models import F
from django.db.models.functions import Now
from django_q.models import OrmQ
from django_q.tasks import async_task

from kilit.database.origin import refuse_unreleased
from kilit.database.outage import database_outage
from kilit.lock.outages import DATABASE_DOWN, note_outage
from kilit.workers import doorbells, sweeps
from kilit.workers.cluster import Cluster
from kilit.workers.due_rows import BoundSql, PreparedQuery, exists_query
from kilit.workers.models import Heartbeat, Runner, SweepRun
from kilit.workers.notifications import Poller
from kilit.workers.presence import own_name
from kilit.workers.processes import group_members, kill_family
from kilit.workers.sweeps import ENDS_WITHIN, STARTS_WITHIN

logger = logging.getLogger(__name__)

RETRY = 1.0  # seconds between two tries without a database
BEAT_EVERY = timedelta(seconds=3)  # while there is work
IDLE_BEAT_EVERY = timedelta(seconds=15)
STALE_AFTER = timedelta(seconds=30)
CHECK_EVERY = timedelta(seconds=10)  # well within ALIVE_FOR
SWEEPS = "scheduled tasks"  # in one query with the bells; no bell has this name
BUSY = re.compile(r"^qcluster \S+ processing ")

CALL_EVERY = timedelta(minutes=1)
BEAT_WITHIN = timedelta(minutes=1)
TIMEOUT = 10  # seconds
# Some scheduled tasks run every minute, so one of them ends within this time unless all are stalled.
TASK_ENDS_WITHIN = CALL_EVERY + STARTS_WITHIN + ENDS_WITHIN


class DeadMansSwitch:
    """Calls an outside watch each minute while work gets through, so that it notices a dead Kilit.

    The address is KILIT_HEARTBEAT_URL, of healthchecks.io or any service that alerts when calls stop. Calls are made in
    a thread, one at a time, so a watch that does not answer never delays the supervisor.
    """

    def __init__(self, name: str) -> None:
        self.name = name  # of the supervisor and its cluster
        self.next_call = 0.0
        self.thread: threading.Thread | None = None
        self.has_failed = False

    def tick(self) -> None:
        """Start a call if one is due, the last one has ended, and work gets through."""
        if not settings.HEARTBEAT_URL or time.monotonic() < self.next_call:
            return
        if (self.thread and self.thread.is_alive()) or not self.work_gets_through():
            return
        self.next_call = time.monotonic() + CALL_EVERY.total_seconds()
        self.thread = threading.Thread(target=self._call, args=[settings.HEARTBEAT_URL], daemon=True)
        self.thread.start()

    def work_gets_through(self) -> bool:
        """Return whether a task went all the way through this cluster, and scheduled tasks end, both just now."""
        beat = Heartbeat.objects.filter(name=self.name, beat_at__gt=Now() - BEAT_WITHIN)
        ended = SweepRun.objects.filter(succeeded=True, finished_at__gt=Now() - TASK_ENDS_WITHIN)
        return beat.exists() and ended.exists()

    def _call(self, address: str) -> None:
        try:
            # A system check allows http and https only.
            with urllib.request.urlopen(address, timeout=TIMEOUT):  # noqa: S310
                self._note_success()
        except urllib.error.HTTPError as error:
            with error:  # it is an open response; Python 3.14 warns if it is not closed
                self._note_failure(error)
        except (OSError, ValueError, http.client.HTTPException) as error:
            self._note_failure(error)

    def _note_success(self) -> None:
        if self.has_failed:
            logger.info("the outside watch answers again")
        self.has_failed = False

    def _note_failure(self, error: Exception) -> None:
        """Log the first failure of a series, without the address: anyone who has it could call in our place."""
        if not self.has_failed:
            detail = error.code if isinstance(error, urllib.error.HTTPError) else type(error).__name__
            logger.warning("the outside watch (KILIT_HEARTBEAT_URL) was not reached: %s", detail)
        self.has_failed = True


class Supervisor:
    def __init__(self) -> None:
        self.name = own_name()
        self.stopping = threading.Event()
        self.cluster: Cluster | None = None
        self.grace_until = 0.0
        self.beat_sent_at = -math.inf
        self.next_check = 0.0
        self.poller = Poller()
        self.ring_pauses = doorbells.RingPauses()
        self.dead_mans_switch = DeadMansSwitch(self.name)

    def run(self) -> None:
        """Supervise until SIGTERM or SIGINT; then let running tasks finish."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while not self.stopping.is_set() and not self._safely(self._sign_in):
            self.stopping.wait(RETRY)
        if not self.stopping.is_set():
            self._start()
        while not self.stopping.is_set():
            if not self._safely(self._wait, during=Error):
                self.stopping.wait(RETRY)
            if not self.stopping.is_set():
                self._tick_safely()
        self._finish()

    def _wait(self) -> None:
        self.poller.wait(stopping=lambda: self.stopping.is_set() or self._has_ended())

    def _sign_in(self) -> None:
        """Prepare the database for this supervisor; it may be repeated, as a commit may be of unknown outcome."""
        refuse_unreleased(connection)
        sweeps.reconcile()
        for signs in (Heartbeat, Runner):
            signs.objects.long_gone().delete()
        # Tasks in queues of clusters that are gone; their due rows are found by asking.
        OrmQ.objects.exclude(key__in=Heartbeat.objects.values("name")).delete()
        Heartbeat.objects.update_or_create(name=self.name, defaults={"pid": os.getpid(), "workers": settings.WORKERS})

    def tick(self) -> None:
        """Restart the cluster if it ended or hangs; then beat, start due sweeps, ring for due rows, call the watch."""
        if self._has_ended():
            self._restart("it ended")
        elif time.monotonic() >= self.next_check and not self._is_healthy():
            self._restart("no task went through")
        self._beat()
        due = self._due_query.run(is_busy=self.poller.is_busy)
        for sweep in sweeps.taken_in(due):
            async_task("kilit.workers.sweeps.run_as_task", sweep, cluster=self.name)
        rung = doorbells.ring_due(at=self.name, due=self.ring_pauses.ready(due))
        if [name for name in rung if self.ring_pauses.note(name)]:
            self.poller.note_work()
        self.dead_mans_switch.tick()

    @cached_property
    def _due_query(self) -> PreparedQuery:
        """Take the due sweeps and name the bells with due rows, in one statement while its plan is kept."""
        take, bells = sweeps.take_statement(), doorbells.conditions()
        due_bells, with_sweeps = exists_query(bells), exists_query({**bells, SWEEPS: sweeps.due_condition()})

        def look_first() -> set[str]:
            names = with_sweeps.run()
            return names | take.run() if SWEEPS in names else names

        at_once = BoundSql(f"{take.sql} UNION ALL {due_bells.sql}", (*take.params, *due_bells.params))
        return PreparedQuery(at_once, when_busy=look_first)

    def _beat(self) -> None:
        every = BEAT_EVERY if self.poller.is_busy else IDLE_BEAT_EVERY
        if time.monotonic() >= self.beat_sent_at + every.total_seconds():
            self.beat_sent_at = time.monotonic()
            async_task("kilit.workers.heartbeat.beat", cluster=self.name)

    def _tick_safely(self) -> None:
        if not self._safely(self.tick, during=Error):
            # Without the database no beat can arrive, so wait a while after it is back before judging the cluster.
            self._allow_grace()

    def _safely(self, step: Callable[[], None], *, during: Any = DATABASE_DOWN) -> bool:
        """Return whether a step was possible; what it waits for is logged once."""
        try:
            step()
        except during as error:
            note_outage(error)
            return False
        database_outage.end()
        return True

    def _is_healthy(self) -> bool:
        # A task of the full length may follow a beat at once, and django-q2 ends it three seconds later.
        longest = timedelta(seconds=settings.TASK_TIMEOUT + 3) + STALE_AFTER
        alive = self._note_alive(STALE_AFTER) or (self._all_busy() and self._note_alive(longest))
        if alive:
            self.next_check = time.monotonic() + CHECK_EVERY.total_seconds()
        return alive or time.monotonic() < self.grace_until

    def _note_alive(self, silence: timedelta) -> bool:
        """Note that the cluster is alive if a task went through within this time; return whether that is so."""
        own = Heartbeat.objects.filter(name=self.name, beat_at__gt=Now() - silence)
        return bool(own.update(alive_at=Now()))

    def _has_ended(self) -> bool:
        return self.cluster is None or self.cluster.has_ended()

    def _all_busy(self) -> bool:
        """Return whether no worker is free to run a beat; only then is silence no sign of death."""
        return len([title for title in self._titles() if BUSY.match(title)]) >= settings.WORKERS

    def _titles(self) -> list[str]:
        titles = []
        for process in group_members(self.cluster.pid if self.cluster else 0):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                titles.append(" ".join(process.cmdline()))
        return titles

    def _allow_grace(self) -> None:
        self.grace_until = time.monotonic() + STALE_AFTER.total_seconds()

    def _start(self) -> None:
        connection.close()  # the forked process would use the same one
        self.cluster = Cluster(self.name)  # with a queue of its own, so that a beat proves this cluster and no other
        self.next_check = 0.0
        self._allow_grace()
        self.poller.note_work()  # its first beat is soon here
        logger.info("cluster started", extra={"cluster_pid": self.cluster.pid})

    def _restart(self, why: str) -> None:
        if self.stopping.is_set():  # the signal came during a tick, and the cluster has ended because of it
            return
        logger.error("restarting the cluster: %s", why)
        self._kill()
        self._start()
        Heartbeat.objects.filter(name=self.name).update(restarts=F("restarts") + 1)

    def _kill(self) -> None:
        if self.cluster is not None:
            kill_family(self.cluster.pid)
            self.cluster.wait()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self.stopping.is_set():
            self._kill()  # second signal: do not wait for running tasks
        self.stopping.set()
        # Now, and not when the current step ends: that may be waiting for a database that does not answer.
        if self.cluster is not None:
            self.cluster.stop()

    def _finish(self) -> None:
        if self.cluster is not None:
            self.cluster.stop()
            if not self.cluster.wait(settings.TASK_TIMEOUT + 5):
                logger.warning("a task did not end in time")
        self._kill()
        if not database_outage.is_on:  # otherwise the next supervisor to start deletes both
            with suppress(Error):
                Heartbeat.objects.filter(name=self.name).delete()
                OrmQ.objects.filter(key=self.name).delete()
        logger.info("stopped")
