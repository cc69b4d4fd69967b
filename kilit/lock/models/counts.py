"""Exact totals per queue, scope and state, without counting rows.

The recorder appends what changed; a sweep folds it into the totals; a reader adds both. Appending takes no lock that
another writer waits for, so there is no hot row and nothing to deadlock on.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, models
from django.db.models.functions import Now

KEEP_MINUTES_FOR = timedelta(days=30)
KEEP_HOURS_FOR = timedelta(days=30)

READ = """
    SELECT queue, scope, state, sum(total)::bigint, sum(entered)::bigint, max(changed_at) FROM (
      SELECT queue, scope, state, total, entered, changed_at FROM lock_count
      UNION ALL
      SELECT queue, scope, state, change, greatest(change, 0), created_at FROM lock_countdelta
    ) AS parts
    WHERE (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(scope)s::text IS NULL OR scope = %(scope)s)
    GROUP BY queue, scope, state ORDER BY queue, scope, state
"""

# One statement, so a reader sees either the deltas or their sum. Two folders would take the same totals in another
# order; the advisory lock lets only one at it, and the other goes home.
FOLD = """
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('lock_fold')) AS mine),
    gone AS (
      DELETE FROM lock_countdelta
      WHERE id IN (SELECT id FROM lock_countdelta, turn WHERE turn.mine ORDER BY id LIMIT %(limit)s)
      RETURNING queue, scope, state, change, created_at
    ),
    totals AS (
      INSERT INTO lock_count (queue, scope, state, total, entered, changed_at)
      SELECT queue, scope, state, sum(change), sum(greatest(change, 0)), max(created_at)
      FROM gone GROUP BY queue, scope, state
      ON CONFLICT (queue, scope, state) DO UPDATE
        SET total = lock_count.total + excluded.total, entered = lock_count.entered + excluded.entered,
          changed_at = greatest(lock_count.changed_at, excluded.changed_at)
    ),
    minutes AS (
      INSERT INTO lock_minutecount (queue, scope, state, minute, entered)
      SELECT queue, scope, state, date_trunc('minute', created_at), sum(change) FROM gone
      WHERE change > 0 GROUP BY queue, scope, state, date_trunc('minute', created_at)
      ON CONFLICT (queue, scope, state, minute) DO UPDATE
        SET entered = lock_minutecount.entered + excluded.entered
    ),
    hours AS (
      INSERT INTO lock_hourcount (queue, scope, state, hour, entered)
      SELECT queue, scope, state, date_trunc('hour', created_at), sum(change) FROM gone
      WHERE change > 0 GROUP BY queue, scope, state, date_trunc('hour', created_at)
      ON CONFLICT (queue, scope, state, hour) DO UPDATE
        SET entered = lock_hourcount.entered + excluded.entered
    )
    SELECT count(*) FROM gone
"""

# The last 24 hours by the clock, the one that runs included; hours in which nothing happened are there too.
READ_HOURS = """
    WITH hours AS (
      SELECT generate_series(this_hour - interval '23 hours', this_hour, interval '1 hour') AS hour
      FROM date_trunc('hour', now()) AS this_hour
    ),
    parts AS (
      SELECT hour, state, entered FROM lock_hourcount
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND hour >= date_trunc('hour', now()) - interval '23 hours'
        AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
      UNION ALL
      SELECT date_trunc('hour', created_at), state, change FROM lock_countdelta
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND change > 0
        AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
    ),
    sums AS (
      SELECT hour, sum(entered) FILTER (WHERE state = ANY(%(well)s)) AS well,
        sum(entered) FILTER (WHERE state = ANY(%(badly)s)) AS badly
      FROM parts GROUP BY hour
    )
    SELECT hour, coalesce(well, 0)::bigint, coalesce(badly, 0)::bigint
    FROM hours LEFT JOIN sums USING (hour) ORDER BY hour
"""


class Total(NamedTuple):
    """How many rows are in a state now, how often one came into it, and when that last changed."""

    queue: str
    scope: str
    state: str
    now: int
    entered: int
    changed_at: datetime


class Hour(NamedTuple):
    """How often a row ended well, and how often badly, in the hour that began then."""

    began_at: datetime
    well: int
    badly: int


class CountQuerySet(models.QuerySet["Count"]):
    """Reads and folds the totals."""

    def totals(self, *, queue: str | None = None, scope: str | None = None) -> list[Total]:
        """Return the exact totals at this moment."""
        with connection.cursor() as cursor:
            cursor.execute(READ, {"queue": queue, "scope": scope})
            return [Total(*row) for row in cursor.fetchall()]

    def by_state(self, *, queue: str, scope: str | None = None) -> dict[str, int]:
        """Return rows per state; states without rows are absent."""
        found: dict[str, int] = {}
        for total in self.totals(queue=queue, scope=scope):
            found[total.state] = found.get(total.state, 0) + total.now
        return {state: number for state, number in found.items() if number}

    def last_day(
        self, *, queue: str, well: Collection[str], badly: Collection[str], scopes: Collection[str] | None = None
    ) -> list[Hour]:
        """Return how rows ended in each of the last 24 hours, of all scopes or of some."""
        asked = {
            "queue": queue,
            "states": [*well, *badly],
            "well": list(well),
            "badly": list(badly),
            "scopes": None if scopes is None else list(scopes),
        }
        with connection.cursor() as cursor:
            cursor.execute(READ_HOURS, asked)
            return [Hour(*row) for row in cursor.fetchall()]

    def fold(self, *, limit: int = 50_000) -> int:
        """Fold pending changes into totals and minutes; return how many were folded."""
        with connection.cursor() as cursor:
            cursor.execute(FOLD, {"limit": limit})
            (folded,) = cursor.fetchone()
        MinuteCount.objects.filter(minute__lt=Now() - KEEP_MINUTES_FOR).delete()
        HourCount.objects.filter(hour__lt=Now() - KEEP_HOURS_FOR).delete()
        return int(folded)


class Count(models.Model):
    """The folded part of a total."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    total = models.BigIntegerField()
    entered = models.BigIntegerField()
    changed_at = models.DateTimeField()

    objects = CountQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # One total per state: the fold adds to it by this key.
        constraints = [models.UniqueConstraint(fields=["queue", "scope", "state"], name="one_total_per_state")]

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state}: {self.total}"


class CountDelta(models.Model):
    """A change not folded yet, appended by the recorder."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    change = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state}: {self.change:+}"


class MinuteCount(models.Model):
    """How many rows came into a state in one minute; charts read these."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    minute = models.DateTimeField()
    entered = models.IntegerField()

    class Meta:
        default_permissions = ()
        # One row per minute: the fold adds to it by this key, and charts read a range of it.
        constraints = [
            models.UniqueConstraint(fields=["queue", "scope", "state", "minute"], name="one_count_per_minute")
        ]
        indexes = [
            # Retention deletes the oldest.
            models.Index(fields=["minute"], name="minutecount_by_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state} {self.minute:%F %H:%M}: {self.entered}"


class HourCount(models.Model):
    """How many rows came into a state in one hour; a day of five hundred sites would be millions of minutes."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    hour = models.DateTimeField()
    entered = models.BigIntegerField()

    class Meta:
        default_permissions = ()
        # One row per hour: the fold adds to it by this key, and a tenant's chart reads a range of it.
        constraints = [models.UniqueConstraint(fields=["queue", "scope", "state", "hour"], name="one_count_per_hour")]
        indexes = [
            # The chart of all tenants reads the newest; retention deletes the oldest.
            models.Index(fields=["hour", "queue", "state"], name="hourcount_by_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state} {self.hour:%F %H}h: {self.entered}"
