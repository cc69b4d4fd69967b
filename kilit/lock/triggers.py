"""Database triggers built from a lifecycle table: they guard and record every way to the rows, psql included."""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

import pgtrigger

from kilit.lock.audit import PEOPLE, person_in_sql, transaction_setting
from kilit.lock.column_guards import (
    IS_ERASING,
    NO_COUNTERS,
    REFUSE,
    Counters,
    Settled,
    arrows,
    fixed_identity,
    listed,
    quote,
    refuse_rows,
)
from kilit.lock.table import Lifecycle

# Planned for each statement (EXECUTE): a plan cached for one row would join ten thousand by nested loops. Rows that
# moved alike are one group with one JSON. Actor and verb come from kilit.lock.audit; else the database role acts.
RECORD = """
    EXECUTE $record$
      WITH moved AS MATERIALIZED (
        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,
          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''){facts})) AS details
        FROM ({moved}) AS each GROUP BY {alike}
      ),
      events AS (
        INSERT INTO lock_event
          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
        SELECT {queue}, unnest(ids), {event_type}, from_state, to_state, $2, $3, details, now()
        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''
      )
      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)
      SELECT {queue}, scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (
        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved
          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)
        UNION ALL
        SELECT from_scope, from_state, -rows FROM moved
          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)
      ) AS changes GROUP BY scope, state
    $record$ USING
      coalesce(current_setting('kilit.verb', true), ''),
      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),
      coalesce(current_setting('kilit.reason', true), '');
    {activity}
    PERFORM set_config('kilit.verb', '', true);
    RETURN NULL;
"""

# One row for what a person or a scheduled task did in one statement (models.Activity), and one for each scope if there
# are several. Machines that claim and report jobs by the million are not in it, but for the verbs that a queue names.
ACTIVITY = """
    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'
      AND (current_setting('kilit.actor', true) ~ '^({people}|sweep|command):'
        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ({decisions})
        OR current_setting('kilit.verb', true) = ANY (ARRAY[{machine_verbs}]::text[]))
    THEN EXECUTE $activity$
      WITH moved AS MATERIALIZED ({moved}),
      acted AS (
        SELECT *, {event_type} AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''
      ),
      lines AS (
        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,
          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several
        FROM acted GROUP BY GROUPING SETS ((), (to_scope))
      ),
      events AS (
        SELECT min(event.id) AS first, max(event.id) AS last
        FROM acted JOIN lock_event AS event ON event.object_id = acted.id
        WHERE event.queue = {queue} AND event.event_type = acted.event_type AND event.created_at = now()
      )
      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,
        first_event, last_event, created_at)
      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,
        {person}, {queue},
        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,
        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()
      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)
    $activity$ USING
      coalesce(current_setting('kilit.verb', true), ''),
      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),
      coalesce(current_setting('kilit.reason', true), '');
    END IF;
"""
# What a person decides, also through a program that has a key.
DECISIONS = ("retry", "retry_selected", "reset_to_queued", "mark_failed", "approve", "cancel", "expire", "start")

# Pruned rows take their events with them, leave the counts exact, and leave a permanent record (models.Pruning).
PRUNE = """
    EXECUTE $prune$
      WITH gone AS MATERIALIZED (SELECT id, status AS state, {scope} AS scope, updated_at FROM old_rows),
      forgotten AS (
        DELETE FROM lock_event WHERE queue = {queue} AND object_id IN (SELECT id FROM gone) RETURNING 1
      ),
      counted AS (
        INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)
        SELECT {queue}, scope, state, -count(*), 0, now() FROM gone GROUP BY scope, state
      )
      INSERT INTO lock_pruning (queue, before, rows, events, states, oldest, newest, actor, message, created_at)
      SELECT {queue}, $3, count(*), (SELECT count(*) FROM forgotten),
        (SELECT jsonb_object_agg(state, number)
          FROM (SELECT state, count(*) AS number FROM gone GROUP BY state) AS each),
        min(updated_at), max(updated_at), $1, $2, now()
      FROM gone HAVING count(*) > 0
    $prune$ USING
      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),
      coalesce(current_setting('kilit.reason', true), ''),
      nullif(current_setting('kilit.prune_before', true), '')::timestamptz;
    RETURN NULL;
"""
# The one way to delete: the transaction names a time (kilit.lock.pruning). Younger rows stay in any case.
SHORTEST_RETENTION = timedelta(days=1)
KEPT = """
    OLD.status NOT IN ({finished}) OR OLD.updated_at >= least(now() - interval '{days} days',
      coalesce(nullif(current_setting('kilit.prune_before', true), '')::timestamptz, '-infinity'))
"""

# The trace that rows are created in, read once for all rows of a statement; most callers send no trace.
TRACE = ", 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), ''))"

PAST = {pgtrigger.Update: "updated", pgtrigger.Delete: "deleted", pgtrigger.Truncate: "truncated"}
# The one way to change texts of the audit trail, to remove what identifies a person from them. Inside the block,
# triggers allow an UPDATE of the columns with free text, and still refuse a change of anything else.
erasing = partial(transaction_setting, "kilit.erasing")


def lifecycle_triggers(
    table: Lifecycle,
    *,
    fixed: Iterable[str],
    counters: Counters = NO_COUNTERS,
    settled: Settled | None = None,
    scope: str | None = None,
    facts: Iterable[str] = (),
    facts_of_new: bool = True,
    empty_facts: bool = True,
    finished: Iterable[str] = (),
    machine_verbs: Iterable[str] = (),
) -> list[pgtrigger.Trigger]:
    """Return the triggers that hold a model's rows to its table and record every move.

    `fixed` are the columns that identify a row, besides its id: they never change. `counters` and `settled` are columns
    that change only at certain moves, or not any more (kilit.lock.column_guards).

    `scope` names a column to count by (a site), or is an expression of a row `{}`; `facts` are columns of the moved row
    to keep in each event, also in those of new rows unless `facts_of_new` is false; empty texts unless `empty_facts` is
    false, which spares a queue of millions a third of each event. Rows in one of the `finished`
    states may be pruned once they are old; all others stay. The activity shows what people do, and of what machines do
    the `machine_verbs`.
    """
    subject, hint = f"rows of {table.queue}", "Move them instead."
    return [
        *_guards(table),
        fixed_identity(table, ("id", *fixed)),
        *counters.triggers(table),
        *(settled.triggers(table) if settled else []),
        _recorder(table, pgtrigger.Insert, scope=scope, facts=facts if facts_of_new else ()),
        _recorder(
            table, pgtrigger.Update, scope=scope, facts=facts, empty_facts=empty_facts, machine_verbs=machine_verbs
        ),
        *(_prunable(table, scope=scope, finished=finished) if finished else []),
        *([] if finished else never(pgtrigger.Delete, subject=subject, hint=hint)),
        *never(pgtrigger.Truncate, subject=subject, hint=hint),
    ]


def never(*operations: pgtrigger.Operation, subject: str, hint: str, unless: str = "") -> list[pgtrigger.Trigger]:
    """Return statement-level triggers that refuse operations on a table, unless an SQL condition holds."""
    return [
        pgtrigger.Trigger(
            name=f"no_{str(operation).lower()}",
            level=pgtrigger.Statement,
            when=pgtrigger.Before,
            operation=operation,
            condition=pgtrigger.Condition(f"NOT ({unless})") if unless else None,
            func=REFUSE.format(message=quote(f"{subject} cannot be {PAST[operation]}"), hint=quote(hint)),
        )
        for operation in operations
    ]


def after_statement(name: str, operation: pgtrigger.Operation, func: str) -> pgtrigger.Trigger:
    """Return a trigger that runs once per statement and sees its rows as `old_rows` and `new_rows`."""
    rows = {
        "old": None if operation is pgtrigger.Insert else "old_rows",
        "new": None if operation is pgtrigger.Delete else "new_rows",
    }
    return pgtrigger.Trigger(
        name=name,
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=operation,
        referencing=pgtrigger.Referencing(**rows),
        func=func,
    )


def scope_of(alias: str, scope: str | None) -> str:
    if scope and "{}" in scope:
        return scope.format(alias)
    return f"{alias}.{scope}::text" if scope else "''"


def _guards(table: Lifecycle) -> list[pgtrigger.Trigger]:
    # The checks are in WHEN clauses: a legal statement calls no function at all.
    return [
        refuse_rows(
            "legal_initial_state",
            pgtrigger.Insert,
            f"NEW.status NOT IN ({listed(table.initial)})",
            f"format('{table.queue} %s cannot be created as %s', NEW.id, NEW.status)",
            hint=f"Rows are created as {', '.join(table.initial)}.",
        ),
        refuse_rows(
            "legal_arrow",
            pgtrigger.Update,
            f"OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN ({arrows(table.edges())})",
            f"format('{table.queue} %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status)",
            hint="docs/lifecycle.md lists the arrows.",
        ),
    ]


def _recorder(
    table: Lifecycle,
    operation: pgtrigger.Operation,
    *,
    scope: str | None,
    facts: Iterable[str],
    empty_facts: bool = True,
    machine_verbs: Iterable[str] = (),
) -> pgtrigger.Trigger:
    columns = ["n.id", "n.status AS to_state", f"{scope_of('n', scope)} AS to_scope", *(f"n.{fact}" for fact in facts)]
    if operation is pgtrigger.Insert:
        columns += ["'' AS from_state", "'' AS from_scope"]
        name, source, event_type, trace = "record_insert", "new_rows n", "'JOB_CREATED'", TRACE
    else:
        columns += ["o.status AS from_state", f"{scope_of('o', scope)} AS from_scope"]
        name, source = "record_move", "new_rows n JOIN old_rows o ON o.id = n.id"
        event_type, trace = "'STATE_' || upper(to_state)", ""
    fact_value = "{}" if empty_facts else "nullif(to_jsonb({}), '\"\"')"
    values = {
        "moved": f"SELECT {', '.join(columns)} FROM {source}",
        "queue": quote(table.queue),
        "event_type": event_type,
        "alike": ", ".join(["from_state", "from_scope", "to_state", "to_scope", *facts]),
        "facts": "".join(f", {quote(fact)}, {fact_value.format(fact)}" for fact in facts) + trace,
    }
    activity = ACTIVITY.format(
        people="|".join(PEOPLE),
        person=person_in_sql("$2"),
        decisions=listed(DECISIONS),
        machine_verbs=listed(machine_verbs),
        **values,
    )
    return after_statement(name, operation, RECORD.format(activity=activity, **values))


def _prunable(table: Lifecycle, *, scope: str | None, finished: Iterable[str]) -> list[pgtrigger.Trigger]:
    return [
        refuse_rows(
            "no_delete",
            pgtrigger.Delete,
            KEPT.format(finished=listed(finished), days=SHORTEST_RETENTION.days),
            f"format('rows of {table.queue} cannot be deleted: %s is %s', OLD.id, OLD.status)",
            hint="Finished rows that are old enough are pruned: docs/operations.md.",
        ),
        after_statement(
            "record_prune", pgtrigger.Delete, PRUNE.format(queue=quote(table.queue), scope=scope_of("old_rows", scope))
        ),
    ]


def only_erased(*texts: str, subject: str, hint: str) -> list[pgtrigger.Trigger]:
    kept = ", ".join(map(quote, texts))
    return [
        *never(pgtrigger.Update, subject=subject, hint=hint, unless=IS_ERASING),
        refuse_rows(
            "only_texts_are_erased",
            pgtrigger.Update,
            f"to_jsonb(NEW) - ARRAY[{kept}] IS DISTINCT FROM to_jsonb(OLD) - ARRAY[{kept}]",
            quote(f"{subject} cannot be updated, except for their texts"),
            hint=hint,
        ),
    ]


def fixed_texts(*columns: str, subject: str) -> pgtrigger.Trigger:
    old, new = (", ".join(f"{row}.{name}" for name in columns) for row in ("OLD", "NEW"))
    return refuse_rows(
        "fixed_texts",
        pgtrigger.Update,
        f"ROW({old}) IS DISTINCT FROM ROW({new}) AND NOT ({IS_ERASING})",
        quote(f"{subject} cannot change their {' and '.join(columns)}"),
        hint="Create another instead.",
    )
