"""Groups of failures that look alike, without counting rows: what is in each now, and how often one came.

As with the counts, triggers append what changed (kilit.lock.failures), a sweep folds it, and a reader adds both.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, models
from django.db.models.functions import Now

# How long a group that is empty now is remembered, with when it was first seen.
REMEMBER_FOR = timedelta(days=30)
KEEP_HOURS_FOR = timedelta(days=8)
TREND_HOURS = 24

READ = """
    SELECT error_group, min(code), min(shape), sum(total)::bigint,
      coalesce(jsonb_object_agg(state, total) FILTER (WHERE total <> 0), '{}')::text, min(first_at), max(last_at)
    FROM (
      SELECT error_group, state, min(code) AS code, min(shape) AS shape, sum(total)::bigint AS total,
        min(first_at) AS first_at, max(last_at) AS last_at
      FROM (
        SELECT error_group, state, code, shape, total, first_at, last_at FROM lock_errorgroup
          WHERE queue = %(queue)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
        UNION ALL
        SELECT error_group, state, code, shape, change, CASE WHEN entered > 0 THEN created_at END,
          CASE WHEN entered > 0 THEN created_at END FROM lock_errordelta
          WHERE queue = %(queue)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
      ) AS parts GROUP BY error_group, state
    ) AS states
    WHERE %(group)s::text IS NULL OR error_group = %(group)s
    GROUP BY error_group HAVING sum(total) > 0 ORDER BY sum(total) DESC, error_group LIMIT %(limit)s
"""

# Hours are those that have passed since: the last one is number 0. Folded and pending in one statement, so that a fold
# in between is not counted twice.
TREND = """
    SELECT error_group, floor(extract(epoch FROM date_trunc('hour', now()) - hour) / 3600)::int, sum(entered)::bigint
    FROM (
      SELECT error_group, hour, entered FROM lock_errorhour
        WHERE queue = %(queue)s AND error_group = ANY(%(groups)s)
          AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
          AND hour > date_trunc('hour', now()) - make_interval(hours => %(hours)s)
      UNION ALL
      SELECT error_group, date_trunc('hour', created_at), entered FROM lock_errordelta
        WHERE queue = %(queue)s AND error_group = ANY(%(groups)s)
          AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s)) AND entered > 0
          AND created_at > date_trunc('hour', now()) - make_interval(hours => %(hours)s - 1)
    ) AS parts GROUP BY 1, 2
"""

# One statement, so a reader sees either the changes or their sum; the advisory lock lets one fold at a time.
FOLD = """
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('lock_fold_errors')) AS mine),
    gone AS (
      DELETE FROM lock_errordelta
      WHERE id IN (SELECT id FROM lock_errordelta, turn WHERE turn.mine ORDER BY id LIMIT %(limit)s)
      RETURNING queue, scope, state, error_group, code, shape, change, entered, created_at
    ),
    totals AS (
      INSERT INTO lock_errorgroup
        (queue, scope, state, error_group, code, shape, total, entered, first_at, last_at, changed_at)
      SELECT queue, scope, state, error_group, min(code), min(shape), sum(change), sum(entered),
        min(created_at) FILTER (WHERE entered > 0), max(created_at) FILTER (WHERE entered > 0), max(created_at)
      FROM gone GROUP BY queue, scope, state, error_group
      ON CONFLICT (queue, scope, error_group, state) DO UPDATE
        SET total = lock_errorgroup.total + excluded.total,
          entered = lock_errorgroup.entered + excluded.entered,
          first_at = least(lock_errorgroup.first_at, excluded.first_at),
          last_at = greatest(lock_errorgroup.last_at, excluded.last_at),
          changed_at = greatest(lock_errorgroup.changed_at, excluded.changed_at)
    ),
    hours AS (
      INSERT INTO lock_errorhour (queue, scope, error_group, hour, entered)
      SELECT queue, scope, error_group, date_trunc('hour', created_at), sum(entered) FROM gone
      WHERE entered > 0 GROUP BY queue, scope, error_group, date_trunc('hour', created_at)
      ON CONFLICT (queue, scope, error_group, hour) DO UPDATE
        SET entered = lock_errorhour.entered + excluded.entered
    )
    SELECT count(*) FROM gone
"""


class Group(NamedTuple):
    """Failures that look alike: how many rows there are now, in which states, and when one came first and last."""

    name: str
    code: str
    shape: str
    total: int
    states: dict[str, int]
    first_at: datetime
    last_at: datetime


class ErrorGroupQuerySet(models.QuerySet["ErrorGroup"]):
    """Reads and folds the groups."""

    def largest(
        self, *, queue: str, scopes: list[str] | None = None, limit: int = 50, group: str | None = None
    ) -> list[Group]:
        """Return the groups that have rows now, the largest first; of all scopes, or of those named."""
        asked = {"queue": queue, "scopes": scopes, "limit": limit, "group": group}
        with connection.cursor() as cursor:
            cursor.execute(READ, asked)
            rows = cursor.fetchall()
        return [
            Group(name, code, shape, total, json.loads(states), first_at, last_at)
            for name, code, shape, total, states, first_at, last_at in rows
        ]

    def trend(self, groups: Sequence[str], *, queue: str, scopes: list[str] | None = None) -> dict[str, list[int]]:
        """Return for each group how many rows came in each of the last 24 hours, the newest hour last."""
        found = {group: [0] * TREND_HOURS for group in groups}
        asked = {"queue": queue, "scopes": scopes, "groups": list(groups), "hours": TREND_HOURS}
        with connection.cursor() as cursor:
            cursor.execute(TREND, asked)
            for group, hours_ago, entered in cursor.fetchall():
                if 0 <= hours_ago < TREND_HOURS:
                    found[group][TREND_HOURS - 1 - hours_ago] += entered
        return found

    def fold(self, *, limit: int = 50_000) -> int:
        """Fold pending changes into groups and hours; return how many were folded."""
        with connection.cursor() as cursor:
            cursor.execute(FOLD, {"limit": limit})
            (folded,) = cursor.fetchone()
        return int(folded)

    def forget(self) -> None:
        """Drop what nobody asks for any more: hours past the trend, and groups long empty."""
        ErrorHour.objects.filter(hour__lt=Now() - KEEP_HOURS_FOR).delete()
        self.filter(total=0, changed_at__lt=Now() - REMEMBER_FOR).delete()


class ErrorGroup(models.Model):
    """The folded part of a group."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    error_group = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    shape = models.TextField()
    total = models.BigIntegerField()
    entered = models.BigIntegerField()
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField()

    objects = ErrorGroupQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = [
            # One total per state of a group: the fold adds to it by this key.
            models.UniqueConstraint(fields=["queue", "scope", "error_group", "state"], name="one_total_per_error_group")
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state} {self.code}: {self.total}"


class ErrorDelta(models.Model):
    """A change not folded yet, appended by the trigger."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=32)
    error_group = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    shape = models.TextField()
    change = models.IntegerField()
    entered = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.state} {self.code}: {self.change:+}"


class ErrorHour(models.Model):
    """How many rows came into a group in one hour; the trend reads these."""

    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)
    error_group = models.CharField(max_length=16)
    hour = models.DateTimeField()
    entered = models.IntegerField()

    class Meta:
        default_permissions = ()
        constraints = [
            # One row per hour: the fold adds to it by this key.
            models.UniqueConstraint(fields=["queue", "scope", "error_group", "hour"], name="one_error_count_per_hour")
        ]
        indexes = [
            # The trend of a few groups over all scopes.
            models.Index(fields=["queue", "error_group", "hour"], name="errorhour_of_group"),
            # Retention deletes the oldest.
            models.Index(fields=["hour"], name="errorhour_by_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.scope} {self.error_group} {self.hour:%F %H:00}: {self.entered}"
