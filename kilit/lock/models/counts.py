"""Exact totals per queue, scope and state, and how many rows entered each state by the hour."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import models
from django.db.models.functions import Now

from kilit.database.sql import read_each, read_rows
from kilit.lock.failures import EXPECTED_FAILURE, REOPENED_FAILURE
from kilit.lock.models.rollup import Rollup, RollupChange, RollupHour, RollupTotal

KEEP_HOURS_FOR = timedelta(days=30)
KEY = ("queue", "scope", "state")
BESIDE_STATES = (EXPECTED_FAILURE, REOPENED_FAILURE)
ROLLUP = Rollup(changes="lock_countdelta", totals="lock_count", hours="lock_hourcount", key=KEY, hour_key=KEY)

READ = """
    SELECT queue, scope, state, sum(total)::bigint, sum(entered)::bigint, max(changed_at) FROM (
      SELECT queue, scope, state, total, entered, changed_at FROM lock_count
      UNION ALL
      SELECT queue, scope, state, change, entered, created_at FROM lock_countdelta
    ) AS parts
    WHERE (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
    GROUP BY queue, scope, state ORDER BY queue, scope, state
"""

# Of whole queues, and of some scopes of others.
IN_STATES = """
    SELECT queue, sum(total)::bigint FROM (
      SELECT queue, scope, state, total FROM lock_count
      UNION ALL
      SELECT queue, scope, state, change FROM lock_countdelta
    ) AS parts
    WHERE (queue, state) IN (SELECT * FROM unnest(%(queues)s::text[], %(states)s::text[]))
      AND (queue = ANY(%(whole)s) OR (queue, scope) IN (SELECT * FROM unnest(%(scoped)s::text[], %(scopes)s::text[])))
    GROUP BY queue
"""

# The same 24 hours as a chart shows, added up.
ENTERED_LAST_DAY = """
    SELECT scope, state, sum(entered)::bigint FROM (
      SELECT scope, state, entered FROM lock_hourcount
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND scope = ANY(%(scopes)s)
        AND hour >= date_trunc('hour', now()) - interval '23 hours'
      UNION ALL
      SELECT scope, state, entered FROM lock_countdelta
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND scope = ANY(%(scopes)s)
        AND created_at >= date_trunc('hour', now()) - interval '23 hours'
    ) AS parts GROUP BY scope, state
"""

# Days of the reader's time zone. Added up by hours first: a month of five hundred sites has hours by the million.
ENTERED_BY_DAY = """
    SELECT date_trunc('day', hour, %(zone)s), state, sum(entered)::bigint FROM (
      SELECT hour, state, sum(entered) AS entered FROM lock_hourcount
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND hour >= %(since)s AND {scopes}
      GROUP BY hour, state
      UNION ALL
      SELECT created_at, state, entered FROM lock_countdelta
      WHERE queue = %(queue)s AND state = ANY(%(states)s) AND created_at >= %(since)s AND entered > 0
        AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
    ) AS parts GROUP BY 1, 2
"""
# Few scopes are read one by one, by the index that begins with them. Before PostgreSQL 17, a list of hours would cost a
# descent of the index for each of them.
OF_FEW_SCOPES = "scope = ANY(%(scopes)s)"
# Many are read in one pass over the hours of all, which lie side by side. An expression has no index.
OF_MANY_SCOPES = """
        hour = ANY(ARRAY(SELECT generate_series(date_trunc('hour', %(since)s::timestamptz), now(), interval '1 hour')))
        AND (%(scopes)s::text[] IS NULL OR (scope || '') = ANY(%(scopes)s))
"""
FEW_SCOPES = 20


class Total(NamedTuple):
    queue: str
    scope: str
    state: str
    now: int
    entered: int
    changed_at: datetime


class Period(NamedTuple):
    """An hour or a day: how many rows ended well and badly, and how many of the latter were expected to.

    A row that failed and was retried, or replaced by a corrected copy, did not end badly.
    """

    began_at: datetime
    well: int
    badly: int
    expected: int = 0


def failure_rate(*, well: int, badly: int, expected: int) -> float | None:
    """Return the share of failures in what ended, without those that were expected; None if nothing is left."""
    ended = well + badly - expected
    return (badly - expected) / ended if ended > 0 else None


class CountQuerySet(models.QuerySet["Count"]):
    def totals(self, *, queue: str | None = None, scopes: Collection[str] | None = None) -> list[Total]:
        values = {"queue": queue, "scopes": None if scopes is None else list(scopes)}
        return list(map(Total._make, read_rows(READ, values)))

    def by_state(self, *, queue: str, scopes: Collection[str] | None = None) -> Counter[str]:
        """Return rows per state, of all scopes or of some; states without rows are absent."""
        return self.each_by_state([(queue, scopes)])[0]

    def each_by_state(self, wanted: Sequence[tuple[str, Collection[str] | None]]) -> list[Counter[str]]:
        """Return the same for several queues, each with its scopes."""
        values = [{"queue": queue, "scopes": None if scopes is None else list(scopes)} for queue, scopes in wanted]
        counts = [Counter[str]() for _ in wanted]
        for counter, rows in zip(counts, read_each(READ, values), strict=True):
            for total in map(Total._make, rows):
                counter[total.state] += total.now
        return [+counter for counter in counts]

    def in_states(self, wanted: Mapping[str, tuple[Collection[str], Collection[str] | None]]) -> Counter[str]:
        """Return how many rows of each queue are in its states, of all scopes (None) or of some."""
        states = [(queue, state) for queue, (states, _scopes) in wanted.items() for state in states]
        scopes = [(queue, scope) for queue, (_states, scopes) in wanted.items() for scope in scopes or ()]
        values = {
            "queues": [queue for queue, _state in states],
            "states": [state for _queue, state in states],
            "whole": [queue for queue, (_states, scopes) in wanted.items() if scopes is None],
            "scoped": [queue for queue, _scope in scopes],
            "scopes": [scope for _queue, scope in scopes],
        }
        return +Counter(dict(read_rows(IN_STATES, values)))

    def last_day(
        self, *, queue: str, well: Collection[str], badly: Collection[str], scopes: Collection[str] | None = None
    ) -> list[Period]:
        """Return how rows ended in each of the last 24 hours, of all scopes or of some."""
        return self.each_last_day([{"queue": queue, "well": well, "badly": badly, "scopes": scopes}])[0]

    def each_last_day(self, wanted: Sequence[Mapping[str, Any]]) -> list[list[Period]]:
        """Return the same for several queues, each with its states and scopes."""
        keys = [(each["queue"], [*each["well"], *each["badly"], *BESIDE_STATES], each["scopes"]) for each in wanted]
        days = []
        for each, rows in zip(wanted, ROLLUP.last_day("state", keys), strict=True):
            hours: dict[datetime, Counter[str | None]] = defaultdict(Counter)
            for hour, state, entered in rows:
                hours[hour][state] += entered or 0
            periods = (_period(hour, ended, well=each["well"], badly=each["badly"]) for hour, ended in hours.items())
            days.append(list(periods))
        return days

    def last_days(
        self,
        days: Sequence[datetime],
        *,
        queue: str,
        well: Collection[str],
        badly: Collection[str],
        scopes: Collection[str] | None = None,
    ) -> list[Period]:
        """Return how rows ended on days, given by their midnights; the last is today."""
        ended: dict[datetime, Counter[str | None]] = {day: Counter() for day in days}
        states = [*well, *badly, *BESIDE_STATES]
        values = {"queue": queue, "states": states, "scopes": None if scopes is None else list(scopes)}
        is_few = scopes is not None and len(scopes) <= FEW_SCOPES
        statement = ENTERED_BY_DAY.format(scopes=OF_FEW_SCOPES if is_few else OF_MANY_SCOPES)
        for day, state, entered in read_rows(statement, {**values, "since": days[0], "zone": str(days[0].tzinfo)}):
            ended.setdefault(day, Counter())[state] += entered
        return [_period(day, ended[day], well=well, badly=badly) for day in days]

    def entered_last_day(
        self, *, queue: str, states: Collection[str], scopes: Collection[str]
    ) -> list[tuple[str, str, int]]:
        rows = read_rows(ENTERED_LAST_DAY, {"queue": queue, "states": list(states), "scopes": list(scopes)})
        return [(scope, state, entered) for scope, state, entered in rows]

    def fold(self, *, limit: int = 50_000) -> int:
        folded = ROLLUP.fold(limit=limit)
        if folded:
            HourCount.objects.filter(hour__lt=Now() - KEEP_HOURS_FOR).delete()
        return folded


def _period(
    began_at: datetime, ended: Mapping[str | None, int], *, well: Collection[str], badly: Collection[str]
) -> Period:
    return Period(
        began_at,
        well=sum(ended.get(state, 0) for state in well),
        badly=max(0, sum(ended.get(state, 0) for state in badly) - ended.get(REOPENED_FAILURE, 0)),
        expected=ended.get(EXPECTED_FAILURE, 0),
    )


class Count(RollupTotal):
    objects = CountQuerySet.as_manager()

    class Meta(RollupTotal.Meta):
        # One total per state: the fold adds to it by this key.
        constraints = [models.UniqueConstraint(fields=KEY, name="one_total_per_state")]


class CountDelta(RollupChange):
    pass


class HourCount(RollupHour):
    state = models.CharField(max_length=32)

    class Meta(RollupHour.Meta):
        # One row per hour: the fold adds to it by this key, and a tenant's chart reads a range of it.
        constraints = [models.UniqueConstraint(fields=[*KEY, "hour"], name="one_count_per_hour")]
        indexes = [
            # The chart of all tenants reads the newest; retention deletes the oldest.
            models.Index(fields=["hour", "queue", "state"], name="hourcount_by_hour"),
        ]
