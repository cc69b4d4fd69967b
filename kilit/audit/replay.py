"""Replays the event log against the lifecycle tables, while work goes on.

It reads one span of the log after the other, each in a short transaction with a snapshot of its own: the memory and the
age of the snapshot do not grow with the log. A chain begins at its birth, each arrow is listed and made by one who may
make it, it starts where the one before ended, and the last state is the row's. Rows have the time of their creation,
the activity has who acted and when, the totals how many rows and moves there are: they must agree with the events.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from pydantic_core import to_json

from kilit.database.sql import read_rows
from kilit.lock.audit import PEOPLE
from kilit.lock.guard import LifecycleModel
from kilit.lock.table import By, Move

Models = Sequence[type[LifecycleModel]]
SPAN = 50_000  # events in one snapshot
# Events have the time at which their transaction began, and a transaction may wait for another before it moves a row.
# What a person does by hand in a longer transaction is named, if others meet it.
LONGEST_WAIT = timedelta(hours=1)


class Fault(TextChoices):
    NOT_BORN = "NOT_BORN", _("its history does not begin with its creation")
    BORN_TWICE = "BORN_TWICE", _("it was created twice")
    BORN_WRONG = "BORN_WRONG", _("it was created in a state that new rows do not have")
    NOT_LISTED = "NOT_LISTED", _("no table lists this move")
    WRONG_MAKER = "WRONG_MAKER", _("the move was made by one who may not make it")
    GAP = "GAP", _("the move starts in another state than the one before ended in")
    TIME_WENT_BACK = "TIME_WENT_BACK", _("the move is older than the one before")
    OTHER_STATE = "OTHER_STATE", _("the row is in another state than its last event says")
    OTHER_TIME = "OTHER_TIME", _("the row or the activity has another time than the event")
    OTHER_ACTOR = "OTHER_ACTOR", _("the activity names another one who did it")
    OTHER_ATTEMPTS = "OTHER_ATTEMPTS", _("the row has another number of attempts than it was claimed")
    NO_ROW = "NO_ROW", _("there are events, but no row")
    OTHER_ROWS = "OTHER_ROWS", _("there are not as many jobs in this state as were counted")
    OTHER_EVENTS = "OTHER_EVENTS", _("there are not as many events as moves into this state were counted")
    NO_EVENTS = "NO_EVENTS", _("there is a row, but no event")
    CHECK = "CHECK"  # of an app; the details have its sentence


class Breach(NamedTuple):
    fault: Fault
    queue: str
    object_id: UUID | None
    event_id: int | None = None
    details: str = ""


class Counts(NamedTuple):
    moves: int
    jobs: int
    queues: Collection[str]


# The events of a span, each with the one before it of the same row.
CHAINS = """
    WITH listed AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(%(moves)s) AS x(queue text, verb text, source text, target text, refused text)
    ),
    arrows AS MATERIALIZED (SELECT DISTINCT queue, source, target FROM listed),
    span AS MATERIALIZED (
      SELECT id, queue, object_id, event_type, from_state, to_state, actor, details ->> 'verb' AS verb, created_at,
        lag(to_state) OVER chain AS before, lag(created_at) OVER chain AS before_at, row_number() OVER chain AS number
      FROM lock_event WHERE id > %(first)s AND id <= %(last)s AND queue = ANY (%(queues)s)
        AND to_state <> ''  -- a pause of a queue, which is no job
      WINDOW chain AS (PARTITION BY object_id ORDER BY id)
    ),
    chained AS (
      SELECT span.*, coalesce(span.before, earlier.to_state) AS came_from,
        coalesce(span.before_at, earlier.created_at) AS came_at
      FROM span LEFT JOIN LATERAL (
        SELECT to_state, created_at FROM lock_event
        WHERE object_id = span.object_id AND id < span.id AND span.number = 1 ORDER BY id DESC LIMIT 1
      ) AS earlier ON true
    ),
    judged AS (
      SELECT chained.*, CASE
        WHEN from_state = '' AND came_from IS NOT NULL THEN 'BORN_TWICE'
        WHEN from_state = '' THEN CASE WHEN arrows.queue IS NULL THEN 'BORN_WRONG' ELSE '' END
        WHEN came_from IS NULL THEN 'NOT_BORN'
        WHEN came_from <> from_state THEN 'GAP'
        WHEN came_at - created_at > %(longest)s THEN 'TIME_WENT_BACK'
        WHEN from_state = to_state AND chained.verb IS NULL THEN ''
        WHEN chained.verb IS NULL AND arrows.queue IS NULL OR chained.verb IS NOT NULL AND listed.queue IS NULL
          THEN 'NOT_LISTED'
        WHEN listed.refused <> '' AND actor ~ listed.refused THEN 'WRONG_MAKER'
        ELSE '' END AS fault
      FROM chained
      LEFT JOIN listed ON listed.queue = chained.queue AND listed.verb = chained.verb AND source = from_state
        AND target = to_state
      LEFT JOIN arrows ON arrows.queue = chained.queue AND arrows.source = from_state AND arrows.target = to_state
    )
"""
FAULTS = """
    SELECT fault, queue, object_id, id, format('%%s → %%s, %%s by %%s', from_state, to_state, verb, actor)
    FROM judged WHERE fault <> '' ORDER BY id LIMIT %(most)s
"""
COUNTS = """
    SELECT queue, count(*), count(*) FILTER (WHERE from_state = '') FROM lock_event
    WHERE id > %s AND id <= %s AND to_state <> '' GROUP BY queue
"""
# What the rows of a span say themselves.
ENDS = """
    WITH moved AS MATERIALIZED (
      SELECT DISTINCT object_id FROM lock_event WHERE id > %(first)s AND id <= %(last)s AND queue = %(queue)s
        AND to_state <> ''
    ),
    newest AS MATERIALIZED (
      SELECT moved.object_id, event.* FROM moved CROSS JOIN LATERAL (
        SELECT (array_agg(to_state ORDER BY id DESC))[1] AS to_state,
          min(created_at) FILTER (WHERE from_state = '') AS born_at
        FROM lock_event WHERE object_id = moved.object_id
      ) AS event
    )
    SELECT CASE WHEN row.id IS NULL THEN 'NO_ROW' WHEN row.status <> newest.to_state THEN 'OTHER_STATE'
        WHEN {times} THEN 'OTHER_TIME' ELSE 'OTHER_ATTEMPTS' END,
      %(queue)s, newest.object_id, NULL, format('%%s, %%s', newest.to_state, row.status)
    FROM newest LEFT JOIN {table} AS row ON row.id = newest.object_id
    WHERE row.id IS NULL OR row.status <> newest.to_state OR {times} {attempts} LIMIT %(most)s
"""
# A row has the time of the statement, its event the one at which the transaction began.
TIMES = "newest.born_at NOT BETWEEN row.created_at - %(longest)s AND row.created_at"
# What people and tasks did, by the statements that moved rows.
ACTORS = """
    SELECT CASE WHEN event.actor <> activity.actor THEN 'OTHER_ACTOR' ELSE 'OTHER_TIME' END,
      event.queue, event.object_id, event.id, format('%%s, %%s', event.actor, activity.actor)
    FROM lock_activity AS activity JOIN lock_event AS event ON event.queue = activity.queue
      AND event.id BETWEEN activity.first_event AND activity.last_event
    WHERE NOT activity.is_part AND activity.first_event > %(first)s AND activity.first_event <= %(last)s
      AND event.queue = ANY (%(queues)s) AND event.to_state <> '' AND (
        event.id IN (activity.first_event, activity.last_event)
          AND (event.actor, event.created_at) <> (activity.actor, activity.created_at)
        OR event.actor <> activity.actor AND event.created_at = activity.created_at
          AND coalesce(event.details ->> 'verb', event.event_type) = activity.verb
      ) LIMIT %(most)s
"""
ATTEMPTS = """
    OR row.attempt_count <> (
      SELECT count(*) FROM lock_event WHERE object_id = row.id AND details ->> 'verb' = ANY (%(counting)s)
    )
"""
# The recorder counts the rows of each statement when it writes their events.
COUNTED = """counted AS (
      SELECT state, sum(total) AS total, sum(entered) AS entered FROM (
        SELECT state, total, entered FROM lock_count WHERE queue = %(queue)s
        UNION ALL SELECT state, change, entered FROM lock_countdelta WHERE queue = %(queue)s
      ) AS parts GROUP BY state
    )
"""
NUMBERS = """
    WITH {counted}, stored AS (SELECT status AS state, count(*) AS total FROM {table} GROUP BY status)
    SELECT 'OTHER_ROWS', %(queue)s, NULL, NULL, format('%%s: %%s, %%s', state, stored.total, counted.total)
    FROM unnest(%(states)s::text[]) AS state LEFT JOIN stored USING (state) LEFT JOIN counted USING (state)
    WHERE coalesce(stored.total, 0) <> coalesce(counted.total, 0)
"""
EVENTS = """
    WITH {counted}, events AS (
      SELECT to_state AS state, count(*) AS number FROM lock_event
      WHERE queue = %(queue)s AND from_state <> to_state GROUP BY to_state
    ),
    pruned AS (SELECT coalesce(sum(events), 0) AS number FROM lock_pruning WHERE queue = %(queue)s)
    SELECT 'OTHER_EVENTS', %(queue)s, NULL, NULL, format('%%s: %%s, %%s', state, events.number, counted.entered)
    FROM unnest(%(states)s::text[]) AS state LEFT JOIN events USING (state) LEFT JOIN counted USING (state), pruned
    WHERE coalesce(counted.entered, 0) - coalesce(events.number, 0) NOT BETWEEN 0 AND pruned.number
"""
UNRECORDED = """
    SELECT 'NO_EVENTS', %(queue)s, id, NULL, status FROM {table} AS row
    WHERE id >= %(since)s AND NOT EXISTS (SELECT FROM lock_event WHERE object_id = row.id) LIMIT %(most)s
"""


def lifecycle_models() -> list[type[LifecycleModel]]:
    models = [model for model in apps.get_models() if issubclass(model, LifecycleModel)]
    return sorted(models, key=lambda model: model.lifecycle.queue)


def models_of(queues: Collection[str]) -> list[type[LifecycleModel]]:
    return [model for model in lifecycle_models() if model.lifecycle.queue in queues]


def refused_makers(move: Move) -> str:
    """Return whom a move is never made by, as a pattern of actors: what is a person's is not a machine's, and back."""
    if move.by == {By.OPERATOR}:
        return "^(sweep|worker|runner):"
    return f"^({'|'.join(PEOPLE)}):" if move.by <= {By.SWEEP} else ""


def listed_moves() -> list[dict[str, str]]:
    rows = []
    for model in lifecycle_models():
        table = model.lifecycle
        rows += [{"queue": table.queue, "verb": "", "source": "", "target": state} for state in table.initial]
        rows += [
            {"queue": table.queue, "verb": verb, "source": source, "target": move.target}
            | {"refused": refused_makers(move)}
            for verb, move in table.moves.items()
            for source in move.sources
        ]
    return rows


def breaches_in_span(first: int, last: int, *, most: int, models: Models = ()) -> Iterator[Breach]:
    """Yield what is wrong in a span of the log, and with the rows that moved in it; of all queues, or of some."""
    models = models or lifecycle_models()
    params: dict[str, Any] = {"first": first, "last": last, "most": most, "longest": LONGEST_WAIT}
    chains = {"moves": to_json(listed_moves()).decode(), "queues": [model.lifecycle.queue for model in models]}
    with snapshot():
        yield from _breaches(CHAINS + FAULTS, params | chains)
        for model in models:
            counting = [verb for verb, move in model.lifecycle.moves.items() if move.counts]
            has_attempts = counting and any(field.name == "attempt_count" for field in model._meta.fields)
            statement = ENDS.format(table=model._meta.db_table, times=TIMES, attempts=ATTEMPTS if has_attempts else "")
            yield from _breaches(statement, params | {"queue": model.lifecycle.queue, "counting": counting})


def rows_without_events(since: UUID, *, most: int, models: Models = ()) -> Iterator[Breach]:
    """Yield rows that were stored since an id, and of which nothing was recorded."""
    for model in models or lifecycle_models():
        statement = UNRECORDED.format(table=model._meta.db_table)
        with snapshot():
            yield from _breaches(statement, {"queue": model.lifecycle.queue, "since": since, "most": most})


def acts_by_others(first: int, last: int, *, most: int) -> Iterator[Breach]:
    """Yield events that have another actor or time than the activity has for them."""
    queues = [model.lifecycle.queue for model in lifecycle_models()]
    with snapshot():
        yield from _breaches(ACTORS, {"first": first, "last": last, "queues": queues, "most": most})


def numbers_that_differ(*, full: bool) -> Iterator[Breach]:
    """Yield states whose rows are not as many as the totals say; or whose events, of which pruned rows take some."""
    for model in lifecycle_models():
        params = {"queue": model.lifecycle.queue, "states": [*model.lifecycle.labels]}
        with snapshot():
            yield from _breaches(NUMBERS.format(table=model._meta.db_table, counted=COUNTED), params)
            if full:
                yield from _breaches(EVENTS.format(counted=COUNTED), params)


def count_span(first: int, last: int) -> Counts:
    rows = read_rows(COUNTS, [first, last])
    return Counts(sum(row[1] for row in rows), sum(row[2] for row in rows), {row[0] for row in rows})


@contextmanager
def snapshot() -> Iterator[None]:
    """See rows and events as they are at one moment; a caller's transaction decides at which."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _breaches(statement: str, params: dict[str, Any]) -> list[Breach]:
    rows: Sequence[tuple[Any, ...]] = read_rows(statement, params)
    return [Breach(Fault(fault), *rest) for fault, *rest in rows]
