"""Stores what this web process has counted, every few seconds and when it ends."""

import logging
import threading
import time
from contextlib import suppress
from datetime import timedelta

from django.db import Error, close_old_connections
from django.db.models.functions import Now

from kilit.web.counter import RequestCounter, own_requests
from kilit.web.models import WebCounter, WebProcess
from kilit.workers.presence import own_name

logger = logging.getLogger(__name__)

EVERY = 5.0  # seconds
FOLD_EVERY = 3600.0
FOLD_AFTER = timedelta(hours=1)


class Reporter:
    def __init__(self, *, threads: int, counter: RequestCounter = own_requests) -> None:
        self.name = own_name()
        self._threads, self._counter = threads, counter
        self._fold_at = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web reports", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Store the last numbers; this process is shown no longer."""
        self._end.set()
        self._thread.join(EVERY)
        self.report()
        with suppress(Error):  # otherwise it is soon shown as gone, and deleted by another one
            WebProcess.objects.filter(name=self.name).delete()

    def report(self) -> bool:
        """Store what was counted since the last time; what cannot be stored is kept for the next.

        If the connection breaks after the database has stored it, these seconds are counted twice.
        """
        numbers = self._counter.take()
        try:
            WebCounter.objects.add(self.name, numbers.counts)
        except Error:
            self._counter.give_back(numbers.counts)
            return False
        with suppress(Error):
            self._show(numbers.busy)
        return True

    def _show(self, busy: float) -> None:
        columns = {"threads": self._threads, "busy": busy, "alive_at": Now()}
        if not WebProcess.objects.filter(name=self.name).update(**columns):
            WebProcess.objects.create(name=self.name, **columns)
        if time.monotonic() >= self._fold_at:
            self._fold_at = time.monotonic() + FOLD_EVERY
            WebProcess.objects.long_gone().delete()
            WebCounter.objects.fold(min_age=FOLD_AFTER)

    def _run(self) -> None:
        while not self._end.wait(EVERY):
            try:
                close_old_connections()  # as before a request
                self.report()
            except Exception:  # the next report may succeed, and no one would start another thread
                logger.exception("web metrics could not be stored")
