"""Render times as a histogram of ten rows."""

from uuid import UUID

from django.db import connection, models

# Seconds. One page takes tenths of a second; a render is ended after a minute.
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, float("inf"))

ADD = """
    WITH took AS (
      SELECT extract(epoch FROM finished_at - started_at)::float AS seconds FROM pdfjobs_pdfjob WHERE id = %s
    )
    INSERT INTO pdfjobs_rendertiming AS timing (bound, renders, seconds)
    SELECT (SELECT min(bound) FROM unnest(%s::float[]) AS bounds (bound) WHERE took.seconds <= bound), 1, took.seconds
    FROM took
    ON CONFLICT (bound) DO UPDATE SET renders = timing.renders + 1, seconds = timing.seconds + excluded.seconds
"""


class RenderTiming(models.Model):
    """Renders that took at most `bound` seconds and longer than the previous bound, and their total time."""

    bound = models.FloatField(primary_key=True)
    renders = models.BigIntegerField()
    seconds = models.FloatField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"up to {self.bound} s: {self.renders}"

    @staticmethod
    def add_of(job: UUID) -> None:
        """Count a job's render, in the transaction that finishes it; rows are not contended at that rate."""
        with connection.cursor() as cursor:
            cursor.execute(ADD, [job, list(BOUNDS)])
