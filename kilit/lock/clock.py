"""The database's clock, by which all times of jobs are written: other machines' clocks differ."""

from datetime import datetime

from django.db import connection


def database_time() -> datetime:
    """Return the time now, as `Now()` would in a statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
