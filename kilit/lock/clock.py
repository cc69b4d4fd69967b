"""The database's clock, by which all times of jobs are written: other machines' clocks differ."""

import time
from datetime import datetime, timedelta

from kilit.database.sql import read_row


def database_time() -> datetime:
    """Return the time now, as `Now()` would in a statement."""
    now: datetime = read_row("SELECT statement_timestamp()")[0]
    return now


class ClockReading:
    """A time that the database gave just now, for threads that cannot ask it; it goes on by itself."""

    def __init__(self, time_given: datetime) -> None:
        self._given, self._at = time_given, time.monotonic()

    def now(self) -> datetime:
        return self._given + timedelta(seconds=time.monotonic() - self._at)
