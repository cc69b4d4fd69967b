"""Web processes, and what they have counted."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from kilit.database.sql import execute
from kilit.web.counter import Series

ALIVE_FOR = timedelta(seconds=30)  # well above the time between two reports
FORGET_AFTER = timedelta(days=1)

# A process adds to its own rows alone, in the same order each time.
ADD = """
    INSERT INTO web_webcounter AS stored (process, metric, labels, value, changed_at)
    SELECT %s, metric, string_to_array(labels, ','), value, now()
    FROM unnest(%s::text[], %s::text[], %s::float8[]) AS part (metric, labels, value)
    ON CONFLICT (process, metric, labels) DO UPDATE
      SET value = stored.value + excluded.value, changed_at = excluded.changed_at
"""

# One statement, so that a reader sees either the rows or their sum. Two folds could lock the same sums in different
# order: the advisory lock lets one run. A process that adds to an old row again has locked it, and it is skipped.
FOLD = """
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('web_webcounter')) AS mine),
    gone AS (
      DELETE FROM web_webcounter WHERE id IN (
        SELECT id FROM web_webcounter AS old, turn
        WHERE turn.mine AND old.process <> '' AND old.changed_at < now() - make_interval(secs => %s)
        ORDER BY id FOR UPDATE OF old SKIP LOCKED)
      RETURNING metric, labels, value
    )
    INSERT INTO web_webcounter AS stored (process, metric, labels, value, changed_at)
    SELECT '', metric, labels, sum(value), now() FROM gone GROUP BY metric, labels
    ON CONFLICT (process, metric, labels) DO UPDATE SET value = stored.value + excluded.value
"""


class ProcessQuerySet(models.QuerySet["WebProcess"]):
    def alive(self) -> Self:
        return self.filter(alive_at__gt=Now() - ALIVE_FOR)

    def long_gone(self) -> Self:
        return self.filter(alive_at__lt=Now() - FORGET_AFTER)


class WebProcess(models.Model):
    name = models.CharField(max_length=90, primary_key=True)
    threads = models.IntegerField()
    busy = models.FloatField()  # threads, on average since the last update
    alive_at = models.DateTimeField(db_default=Now())

    objects = ProcessQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class CounterQuerySet(models.QuerySet["WebCounter"]):
    def add(self, process: str, counts: Mapping[Series, float]) -> None:
        parts = [(series.metric, ",".join(series.labels), value) for series, value in sorted(counts.items())]
        if parts:
            execute(ADD, [process, *map(list, zip(*parts, strict=True))])

    def fold(self, *, min_age: timedelta) -> None:
        """Fold rows that nobody has added to for a while, mostly of processes that have ended."""
        execute(FOLD, [min_age.total_seconds()])

    def totals(self) -> defaultdict[Series, float]:
        sums = self.values_list("metric", "labels").annotate(total=models.Sum("value"))
        return defaultdict(float, {Series(metric, tuple(labels)): total for metric, labels, total in sums})


class WebCounter(models.Model):
    """How much a process has counted; without a process, the sum of rows that were folded."""

    process = models.CharField(max_length=90, blank=True)
    metric = models.CharField(max_length=16)
    labels = ArrayField(models.CharField(max_length=32))  # in the order of the metric's labels
    value = models.FloatField()
    changed_at = models.DateTimeField()

    objects = CounterQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # A process adds to its rows by this key.
        constraints = [models.UniqueConstraint(fields=["process", "metric", "labels"], name="one_web_counter")]

    def __str__(self) -> str:
        return f"{self.metric} {self.labels}"
