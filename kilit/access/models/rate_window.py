"""How often each caller came in the current minute, shared by all processes."""

from django.db import connection, models

# One statement counts and answers, so two processes never both take the last place.
# Nothing waits for it to reach the disk: after a crash of the server a minute's count may be short.
HIT = """
    INSERT INTO access_ratewindow AS rate (name, minute, hits)
    SELECT %s, date_trunc('minute', now()), 1 WHERE %s OR set_config('synchronous_commit', 'off', true) = 'off'
    ON CONFLICT (name) DO UPDATE SET
      hits = CASE WHEN rate.minute = excluded.minute THEN rate.hits + 1 ELSE 1 END, minute = excluded.minute
    RETURNING hits, ceil(extract(epoch FROM minute + interval '1 minute' - now()))::int
"""


class RateWindow(models.Model):
    """One caller's requests in the minute it last came."""

    name = models.CharField(max_length=128, primary_key=True)
    minute = models.DateTimeField()
    hits = models.IntegerField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.hits}"

    @classmethod
    def hit(cls, name: str) -> tuple[int, int]:
        """Count a request; return how many there were this minute, and the seconds until the next."""
        with connection.cursor() as cursor:
            cursor.execute(HIT, [name, connection.in_atomic_block])  # a transaction around it keeps its own promise
            hits, seconds = cursor.fetchone()
            return int(hits), int(seconds)
