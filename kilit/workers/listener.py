"""Waiting for notifications of PostgreSQL, on the connection that a process has anyway.

A notification only says "look now": a process that misses one looks again after a while. PostgreSQL loses none while a
connection lives, and who listens on a new connection looks first. A pooler may give the session that listens to another
client, so behind one nothing is expected, and the process looks as often as if there were no notifications.
"""

import select
from typing import Any

from django.db import connections


class Listener:
    def __init__(self, channel: str, *, using: str = "default") -> None:
        self.channel, self.using = channel, using
        self.hears = False
        self._listening: Any = None  # the connection that listens; a new one, after that was closed, does not yet

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
        """Return what the notifications of this channel say, as soon as one arrives; an empty set if none does."""
        database = connections[self.using]
        with database.wrap_database_errors:
            heard = self._read(database.connection)  # arrived with the answer to a statement
            if not heard:
                # Not psycopg's own wait, which wakes up ten times a second.
                select.select([database.connection], [], [], max(0.0, seconds))
                heard = self._read(database.connection)
        return heard

    def _read(self, connection: Any) -> set[str]:
        return {found.payload for found in connection.notifies(timeout=0) if found.channel == self.channel}
