"""An outage of the database as one process sees it: logged when it begins and when it ends, and not at each try."""

import logging
import threading
import time

from django.db import OperationalError

logger = logging.getLogger(__name__)

PAUSE = 2.0  # seconds


class Outage:
    """While it lasts, at most one thread tries to connect every few seconds; the others fail at once.

    Otherwise each of them would wait for a server that is known to be silent, and callers would wait behind them.
    """

    def __init__(self, beginning: str, end: str) -> None:
        self._beginning, self._end = beginning, end
        self._lock = threading.Lock()
        self._since: float | None = None
        self._next_try = 0.0

    def begin(self, reason: object, *, pause: bool = False) -> None:
        """Note a failure; with `pause`, one that took so long that others should not repeat it now."""
        with self._lock:
            is_new = self._since is None
            if is_new:
                self._since = time.monotonic()
            if pause:
                self._next_try = time.monotonic() + PAUSE
        if is_new:
            logger.warning(self._beginning, " ".join(str(reason).split()))

    def end(self) -> None:
        with self._lock:
            since, self._since, self._next_try = self._since, None, 0.0
        if since is not None:
            logger.warning(self._end, time.monotonic() - since)

    @property
    def is_on(self) -> bool:
        return self._since is not None

    @property
    def is_pausing(self) -> bool:
        return time.monotonic() < self._next_try

    def refuse_in_pause(self) -> None:
        """Fail while others should not try; when it is time, the first to ask may."""
        with self._lock:
            if self.is_pausing:
                raise OperationalError("the database did not answer a moment ago")
            if self._next_try:
                self._next_try = time.monotonic() + PAUSE


# The database cannot be reached.
database_outage = Outage("waiting for the database: %s", "the database answers again, after %.0f s")
# The server answers, but it is a standby or an old primary, or an administrator made it read-only.
read_only_outage = Outage(
    "waiting for a database that can be written: %s", "the database can be written again, after %.0f s"
)
# The server answers, but commits wait for a synchronous standby that does not.
standby_outage = Outage(
    "commits are waiting for a synchronous standby (%s)", "commits are confirmed by a standby again, after %.0f s"
)
