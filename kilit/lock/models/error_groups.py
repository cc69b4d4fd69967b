"""Groups of failures that look alike: how many rows are in each now, and how many entered it by the hour.

Which failures look alike, and the triggers that append the changes: kilit.lock.failures.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import models
from django.db.models.functions import Now

from kilit.database.sql import read_each, read_rows
from kilit.lock.failures import GROUP_LENGTH
from kilit.lock.models.rollup import IN_SCOPES, Aggregate, Rollup, RollupChange, RollupHour, RollupTotal

# How long a group without rows is kept, with the time it was first seen.
KEEP_EMPTY_GROUPS_FOR = timedelta(days=30)
KEEP_HOURS_FOR = timedelta(days=8)
TREND_HOURS = 24

KEY = ("queue", "scope", "error_group", "state")
HOUR_KEY = ("queue", "scope", "error_group")
ROLLUP = Rollup(
    changes="lock_errordelta",
    totals="lock_errorgroup",
    hours="lock_errorhour",
    key=KEY,
    hour_key=HOUR_KEY,
    further={
        "code": Aggregate("min(code)"),
        "shape": Aggregate("min(shape)"),
        "first_at": Aggregate("min(created_at) FILTER (WHERE entered > 0)", merge="least"),
        "last_at": Aggregate("max(created_at) FILTER (WHERE entered > 0)", merge="greatest"),
    },
)

OF_QUEUE = f"queue = %(queue)s AND {IN_SCOPES}"
# What is folded and what is pending.
PARTS = """
        SELECT scope, error_group, state, code, shape, total, first_at, last_at FROM lock_errorgroup WHERE {where}
        UNION ALL
        SELECT scope, error_group, state, code, shape, change, CASE WHEN entered > 0 THEN created_at END,
          CASE WHEN entered > 0 THEN created_at END FROM lock_errordelta WHERE {where}
"""
SUMS = """
      SELECT {key}, min(code) AS code, min(shape) AS shape, sum(total)::bigint AS total,
        min(first_at) AS first_at, max(last_at) AS last_at,
        min(scope) FILTER (WHERE total <> 0) AS first_scope, max(scope) FILTER (WHERE total <> 0) AS last_scope
      FROM ({parts}) AS parts GROUP BY {key}
"""
READ = """
    SELECT error_group, min(code), min(shape), sum(total)::bigint,
      coalesce(jsonb_object_agg(state, total) FILTER (WHERE total <> 0), '{}')::text, min(first_at), max(last_at),
      CASE WHEN min(first_scope) = max(last_scope) THEN min(first_scope) ELSE '' END, EXAMPLE
    FROM (SUMS) AS states
    WHERE %(group)s::text IS NULL OR error_group = %(group)s
    GROUP BY error_group HAVING sum(total) > 0 ORDER BY sum(total) DESC, error_group LIMIT %(limit)s
""".replace("SUMS", SUMS.format(key="error_group, state", parts=PARTS.format(where=OF_QUEUE)))

# The causes of rows in some states. The largest scopes of each are named.
OF_STATES = f"{OF_QUEUE} AND state = ANY(%(states)s) AND code <> ALL(%(without)s)"
CAUSES = """
    SELECT error_group, state, min(code), min(shape), sum(total)::bigint,
      min(first_at) FILTER (WHERE total > 0), max(last_at) FILTER (WHERE total > 0),
      (array_agg(scope ORDER BY total DESC, scope) FILTER (WHERE total > 0))[1:5],
      (array_agg(total ORDER BY total DESC, scope) FILTER (WHERE total > 0))[1:5],
      count(*) FILTER (WHERE total > 0)
    FROM (SUMS) AS scopes
    GROUP BY error_group, state HAVING sum(total) > 0 ORDER BY sum(total) DESC, error_group LIMIT 100
""".replace("SUMS", SUMS.format(key="error_group, state, scope", parts=PARTS.format(where=OF_STATES)))

# How many rows fail with each code now, of one state or of all.
CODES = """
    SELECT code, sum(total)::bigint FROM (PARTS) AS parts
    WHERE total <> 0 AND (%(state)s = '' OR state = %(state)s) GROUP BY code HAVING sum(total) > 0
""".replace("PARTS", PARTS.format(where=OF_QUEUE))


class Cause(NamedTuple):
    """An error group of one state: how many rows, since when, and the scopes that have most of them."""

    name: str
    state: str
    code: str
    shape: str
    total: int
    first_at: datetime
    last_at: datetime
    scopes: list[tuple[str, int]]
    scope_count: int


class Group(NamedTuple):
    """Failures that look alike: how many rows there are now, in which states, and when the first and last came."""

    name: str
    code: str
    shape: str
    total: int
    states: dict[str, int]
    first_at: datetime
    last_at: datetime
    scope: str = ""  # if there is only one
    message: str | None = None  # of one of its rows, if asked for

    @property
    def state(self) -> str:
        """Return the state that most of its rows are in."""
        return max(self.states, key=self.states.__getitem__, default="")


class ErrorGroupQuerySet(models.QuerySet["ErrorGroup"]):
    def largest(
        self,
        *,
        queue: str,
        scopes: list[str] | None = None,
        limit: int = 50,
        group: str | None = None,
        example: str = "NULL",  # of a message, by `Failures.example`
    ) -> list[Group]:
        rows = read_rows(
            READ.replace("EXAMPLE", example), {"queue": queue, "scopes": scopes, "limit": limit, "group": group}
        )
        return [
            Group(name, code, shape, total, json.loads(states), *others)
            for name, code, shape, total, states, *others in rows
        ]

    def causes(self, *wanted: Mapping[str, Any]) -> list[list[Cause]]:
        """Return why rows of each queue are in some states, the most frequent cause first.

        Each names a `queue`, `states` and `scopes`, and codes that are left out, `without`: they need no one.
        """
        return [
            [Cause(*row[:7], list(zip(row[7], row[8], strict=True)), row[9]) for row in rows]  # type: ignore[call-arg]
            for rows in read_each(CAUSES, wanted)
        ]

    def codes(self, *, queue: str, state: str = "", scopes: list[str] | None = None) -> Counter[str]:
        return Counter(dict(read_rows(CODES, {"queue": queue, "state": state, "scopes": scopes})))

    def trend(self, groups: Sequence[str], *, queue: str, scopes: list[str] | None = None) -> dict[str, list[int]]:
        hours: dict[datetime, dict[str, int]] = {}
        for hour, group, entered in ROLLUP.last_day("error_group", [(queue, groups, scopes)])[0]:
            hours.setdefault(hour, {}).update({group: entered} if group and entered else {})
        return {group: [entered.get(group, 0) for entered in hours.values()] for group in groups}

    def fold(self, *, limit: int = 50_000) -> int:
        return ROLLUP.fold(limit=limit)

    def forget(self) -> None:
        ErrorHour.objects.filter(hour__lt=Now() - KEEP_HOURS_FOR).delete()
        self.filter(total=0, changed_at__lt=Now() - KEEP_EMPTY_GROUPS_FOR).delete()


class ErrorGroup(RollupTotal):
    error_group = models.CharField(max_length=GROUP_LENGTH)
    code = models.CharField(max_length=64)
    shape = models.TextField()
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)

    objects = ErrorGroupQuerySet.as_manager()

    class Meta(RollupTotal.Meta):
        # One total per state of a group: the fold adds to it by this key.
        constraints = [models.UniqueConstraint(fields=KEY, name="one_total_per_error_group")]


class ErrorDelta(RollupChange):
    error_group = models.CharField(max_length=GROUP_LENGTH)
    code = models.CharField(max_length=64)
    shape = models.TextField()


def failures_of(queue: str) -> list[models.QuerySet[Any]]:
    """Return rows that exist while a queue has failed jobs."""
    return [ErrorGroup.objects.filter(queue=queue, total__gt=0), ErrorDelta.objects.filter(queue=queue)]


class ErrorHour(RollupHour):
    error_group = models.CharField(max_length=GROUP_LENGTH)

    class Meta(RollupHour.Meta):
        # One row per hour: the fold adds to it by this key.
        constraints = [models.UniqueConstraint(fields=[*HOUR_KEY, "hour"], name="one_error_count_per_hour")]
        indexes = [
            # The trend of a few groups over all scopes.
            models.Index(fields=["queue", "error_group", "hour"], name="errorhour_of_group"),
            # Retention deletes the oldest.
            models.Index(fields=["hour"], name="errorhour_by_hour"),
        ]
