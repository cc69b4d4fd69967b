"""Requests of each caller in the current minute, counted across all processes."""

from django.db import connection, models

# One statement counts and returns, so two processes never both get the last request of the limit.
# It does not wait for the disk: after a crash of the server, a minute's count may be too low.
HIT = """
    INSERT INTO access_ratewindow AS rate (name, minute, hits)
    SELECT %s, date_trunc('minute', now()), 1 WHERE %s OR set_config('synchronous_commit', 'off', true) = 'off'
    ON CONFLICT (name) DO UPDATE SET
      hits = CASE WHEN rate.minute = excluded.minute THEN rate.hits + 1 ELSE 1 END, minute = excluded.minute
    RETURNING hits, ceil(extract(epoch FROM minute + interval '1 minute' - now()))::int
"""


class RateWindow(models.Model):
    name = models.CharField(max_length=128, primary_key=True)
    minute = models.DateTimeField()
    hits = models.IntegerField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.hits}"

    @classmethod
    def hit(cls, name: str) -> tuple[int, int]:
        """Count a request; return this minute's count, and the seconds until the next minute."""
        with connection.cursor() as cursor:
            cursor.execute(HIT, [name, connection.in_atomic_block])  # a surrounding transaction keeps its durability
            hits, seconds = cursor.fetchone()
            return int(hits), int(seconds)
