"""When a supervisor or a runner looks for due rows: when a change is announced, and every few seconds.

While there is work it looks every second, because one change often leads to the next. It also does where no
announcement can arrive, behind a pooler.
"""

import math
import time
from collections.abc import Callable

from kilit.workers.announcements import CHANNEL
from kilit.workers.listener import Listener

SOON = 1.0  # seconds between two looks while there is work
LATER = 5.0  # seconds between two looks otherwise: what was not announced waits no longer than this
BUSY_FOR = 10.0  # seconds after the last work or announcement
NOTICE_STOP = 1.0  # seconds after which the process checks whether it has to stop


class Poller:
    def __init__(self) -> None:
        self._listener = Listener(CHANNEL)
        self._looked_at, self._busy_until = -math.inf, 0.0

    def note_work(self) -> None:
        self._busy_until = time.monotonic() + BUSY_FOR

    @property
    def is_busy(self) -> bool:
        return time.monotonic() < self._busy_until

    def wait(self, *, stopping: Callable[[], bool]) -> None:
        """Return when it is time to look, or to stop."""
        if self._listener.listen():
            self._looked_at = -math.inf  # announcements may have been missed
        while not stopping() and (left := self._seconds_left()) > 0:
            if self._listener.wait(min(left, NOTICE_STOP)):
                self.note_work()
        self._looked_at = time.monotonic()

    def _seconds_left(self) -> float:
        pause = SOON if self.is_busy or not self._listener.hears else LATER
        return self._looked_at + pause - time.monotonic()
