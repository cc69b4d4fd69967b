"""The database's clock, by which all times of jobs are written: other machines' clocks differ."""

import time
from datetime import datetime, timedelta

from django.db import connection


def database_time() -> datetime:
    """Return the time now, as `Now()` would in a statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


class ClockReading:
    """A time that the database gave just now, for threads that cannot ask it; it goes on by itself."""

    def __init__(self, time_given: datetime) -> None:
        self._given, self._at = time_given, time.monotonic()

    def now(self) -> datetime:
        return self._given + timedelta(seconds=time.monotonic() - self._at)
