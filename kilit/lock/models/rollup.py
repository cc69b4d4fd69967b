"""Roll-ups: exact sums that are read without counting rows, in three tables each.

A trigger appends what changed (`RollupChange`), a sweep folds it into sums (`RollupTotal`) and hours (`RollupHour`),
and a reader adds folded and pending in one statement. Appending takes no lock that another writer waits for, so there
is no hot row and nothing to deadlock on. Counts and error groups are the two roll-ups.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import models
from django.db.models.functions import Now

from kilit.database.sql import Row, read_each, read_row

IN_SCOPES = "(%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))"

# One statement, so a reader sees either the changes or their sum. Two folds could lock the same totals in different
# order: the advisory lock lets one run, and the other folds nothing.
FOLD = """
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('{changes}')) AS mine),
    gone AS (
      DELETE FROM {changes}
      WHERE id IN (SELECT id FROM {changes}, turn WHERE turn.mine ORDER BY id LIMIT %s)
      RETURNING *
    ),
    totals AS (
      INSERT INTO {totals} AS folded ({key}, total, entered, changed_at{further})
      SELECT {key}, sum(change), sum(entered), max(created_at){aggregates} FROM gone GROUP BY {key}
      ON CONFLICT ({key}) DO UPDATE
        SET total = folded.total + excluded.total, entered = folded.entered + excluded.entered,
          changed_at = greatest(folded.changed_at, excluded.changed_at){merges}
    ),
    hours AS (
      INSERT INTO {hours} AS folded ({hour_key}, hour, entered)
      SELECT {hour_key}, date_trunc('hour', created_at), sum(entered) FROM gone
      WHERE entered > 0 GROUP BY {hour_key}, date_trunc('hour', created_at)
      ON CONFLICT ({hour_key}, hour) DO UPDATE SET entered = folded.entered + excluded.entered
    )
    SELECT count(*) FROM gone
"""

# The last 24 hours by the clock, the current one included; an hour in which nothing happened has a row too. Hours are
# asked for by name, not as a range, so that the index that begins with the hour is always the cheapest.
LAST_DAY = """
    SELECT hour, {column}, entered
    FROM generate_series(date_trunc('hour', now()) - interval '23 hours', date_trunc('hour', now()),
      interval '1 hour') AS hour
    LEFT JOIN (
      SELECT hour, {column}, sum(entered)::bigint AS entered FROM (
        SELECT hour, {column}, entered FROM {hours}
        WHERE queue = %(queue)s AND {column} = ANY(%(values)s)
          AND hour = ANY(ARRAY(SELECT generate_series(
            date_trunc('hour', now()) - interval '23 hours', date_trunc('hour', now()), interval '1 hour')))
          AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
        UNION ALL
        SELECT date_trunc('hour', created_at), {column}, entered FROM {changes}
        WHERE queue = %(queue)s AND {column} = ANY(%(values)s) AND entered > 0
          AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
      ) AS parts GROUP BY hour, {column}
    ) AS sums USING (hour)
    ORDER BY hour
"""


@dataclass(frozen=True)
class Aggregate:
    """A further column of a total: how it comes from the changes, and how it merges with what is folded already."""

    of_changes: str
    merge: str = ""  # the name of an SQL function of two values; empty keeps the first value


@dataclass(frozen=True)
class Rollup:
    """The three tables of a roll-up, and the columns that its totals and its hours are kept by."""

    changes: str
    totals: str
    hours: str
    key: Sequence[str]
    hour_key: Sequence[str]
    further: Mapping[str, Aggregate] = field(default_factory=dict)

    def fold(self, *, limit: int) -> int:
        merged = {name: column.merge for name, column in self.further.items() if column.merge}
        statement = FOLD.format(
            changes=self.changes,
            totals=self.totals,
            hours=self.hours,
            key=", ".join(self.key),
            hour_key=", ".join(self.hour_key),
            further="".join(f", {name}" for name in self.further),
            aggregates="".join(f", {column.of_changes}" for column in self.further.values()),
            merges="".join(f", {name} = {merge}(folded.{name}, excluded.{name})" for name, merge in merged.items()),
        )
        return int(read_row(statement, [limit])[0])

    def last_day(
        self, column: str, wanted: Sequence[tuple[str, Collection[str], Collection[str] | None]]
    ) -> list[list[Row]]:
        """Return hour, value of the column and how many rows entered, oldest hour first; no value for an empty hour.

        Wanted are values of the column, of a queue and of all scopes or some; each has rows of its own.
        """
        statement = LAST_DAY.format(changes=self.changes, hours=self.hours, column=column)
        return read_each(
            statement,
            [
                {"queue": queue, "values": list(values), "scopes": None if scopes is None else list(scopes)}
                for queue, values, scopes in wanted
            ],
        )


class RollupRow(models.Model):
    queue = models.CharField(max_length=32)
    scope = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"{type(self).__name__} of {self.queue} {self.scope}"


class RollupTotal(RollupRow):
    state = models.CharField(max_length=32)
    total = models.BigIntegerField()
    entered = models.BigIntegerField()
    changed_at = models.DateTimeField()

    class Meta(RollupRow.Meta):
        abstract = True


class RollupChange(RollupRow):
    """A change that is not folded yet, appended by a trigger: how many rows entered, and how the sum changed."""

    state = models.CharField(max_length=32)
    change = models.IntegerField()
    entered = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta(RollupRow.Meta):
        abstract = True


class RollupHour(RollupRow):
    hour = models.DateTimeField()
    entered = models.BigIntegerField()

    class Meta(RollupRow.Meta):
        abstract = True
