"""Notifications of PostgreSQL, on the connection that a process has anyway. Each only says "look now".

- `Listener` waits for them. A process that misses one looks again after a while; on a new connection it looks first. A
  pooler may give the session that listens to another client, so behind one nothing is expected.
- `announce` tells that rows changed, where no doorbell does: events that webhooks are made from, orders for a runner on
  another machine, a scheduled task that is to run now. A process sends at most one a second, after its commits and
  outside of them, because notifications make commits wait for each other.
- `Poller` says when a supervisor or a runner looks for due rows: at an announcement, and every few seconds. While there
  is work, and behind a pooler, it looks every second: one change often leads to the next.
"""

import math
import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import Error, connection, connections

CHANNEL = "kilit_changes"
ANNOUNCE_EVERY = 1.0  # seconds
SOON = 1.0  # seconds between two looks while there is work
LATER = 5.0  # seconds between two looks otherwise: what was not announced waits no longer than this
BUSY_FOR = 10.0  # seconds after the last work or announcement
NOTICE_STOP = 1.0  # seconds after which the process checks whether it has to stop


class Listener:
    def __init__(self, channel: str, *, using: str = "default") -> None:
        self.channel, self.using = channel, using
        self.hears = False
        self._listening: object = None  # the connection that listens; a new one, after that was closed, does not yet

    def listen(self) -> bool:
        """Make sure that this thread's connection listens; return True if it did not, so that its owner looks now."""
        database = connections[self.using]
        database.ensure_connection()
        if self._listening is database.connection:
            return False
        self.hears = not database.is_pooled()  # type: ignore[attr-defined]
        if self.hears:
            with database.cursor() as cursor:
                cursor.execute(f"LISTEN {self.channel}")
        self._listening = database.connection
        return True

    def wait(self, seconds: float) -> set[str]:
        """Return what the notifications of this channel say, as soon as one arrives, or an empty set."""
        database = connections[self.using]
        with database.wrap_database_errors:
            heard = self._read(database.connection)  # arrived with the result of a statement
            if not heard:
                # Not psycopg's own wait, which wakes up ten times a second.
                select.select([database.connection], [], [], max(0.0, seconds))
                heard = self._read(database.connection)
        return heard

    def _read(self, connection: Any) -> set[str]:
        return {notice.payload for notice in connection.notifies(timeout=0) if notice.channel == self.channel}


class _Announcer:
    announces = False
    next_at = 0.0


def announce_changes() -> None:
    """Let this process announce what it changes; services call it when they start."""
    _Announcer.announces = True


def announce() -> None:
    """Announce that rows changed. If that fails, they are found a few seconds later."""
    if not _Announcer.announces or time.monotonic() < _Announcer.next_at or connection.in_atomic_block:
        return
    _Announcer.next_at = time.monotonic() + ANNOUNCE_EVERY
    with suppress(Error), connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


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
        if self._listener.listen():
            self._looked_at = -math.inf  # announcements may have been missed
        while not stopping() and (left := self._seconds_left()) > 0:
            if self._listener.wait(min(left, NOTICE_STOP)):
                self.note_work()
        self._looked_at = time.monotonic()

    def _seconds_left(self) -> float:
        pause = SOON if self.is_busy or not self._listener.hears else LATER
        return self._looked_at + pause - time.monotonic()
