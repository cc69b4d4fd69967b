"""How long renders took, as a histogram that reads in constant time."""

from uuid import UUID

from django.db import connection, models

# A render of one page takes tenths of a second; one that takes longer than a minute is ended.
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
    """How many renders took no longer than a bound and longer than the one before, and how long all of them."""

    bound = models.FloatField(primary_key=True)
    renders = models.BigIntegerField()
    seconds = models.FloatField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"up to {self.bound} s: {self.renders}"

    @staticmethod
    def add_of(job: UUID) -> None:
        """Count a job's render, in the transaction that settles it: at that rate no row of this table is hot."""
        with connection.cursor() as cursor:
            cursor.execute(ADD, [job, list(BOUNDS)])
