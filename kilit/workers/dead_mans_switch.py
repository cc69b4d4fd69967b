"""The dead man's switch: calls an outside watch each minute while work gets through, so that it notices a dead Kilit.

The address is KILIT_HEARTBEAT_URL, of healthchecks.io or any service that alerts when calls stop. Calls are made in a
thread, one at a time, so a watch that does not answer never delays the supervisor.
"""

import http.client
import logging
import threading
import time
import urllib.error
import urllib.request
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.sweeps import ENDS_WITHIN, STARTS_WITHIN

logger = logging.getLogger(__name__)

CALL_EVERY = timedelta(minutes=1)
BEAT_WITHIN = timedelta(minutes=1)
TIMEOUT = 10  # seconds
# Some scheduled tasks run every minute, so one of them ends within this time unless all are stalled.
TASK_ENDS_WITHIN = CALL_EVERY + STARTS_WITHIN + ENDS_WITHIN


class DeadMansSwitch:
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
