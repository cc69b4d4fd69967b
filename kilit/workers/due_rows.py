"""Whether rows wait for work, asked about many queues in one statement."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from psycopg import Cursor

from kilit.lock.compiled import fill_in

# What a queue or a scheduled task would work on now, if any of these has a row. It is compiled once for each process,
# so every time in it is the database's: `Now()`, and no value of Python's clock.
DueRows = Callable[[], "Sequence[QuerySet[Any]]"]


class BoundSql(NamedTuple):
    sql: str
    params: tuple[Any, ...]


def question(conditions: Mapping[str, BoundSql]) -> BoundSql:
    """Return the statement that asks which conditions hold; compiling them takes long, so supervisors keep it."""
    asked = " UNION ALL ".join(f"SELECT %s::text WHERE {condition.sql}" for condition in conditions.values())
    params = tuple(param for name, found in conditions.items() for param in (name, *found.params))
    return BoundSql(asked or "SELECT '' WHERE false", params)


def ask(question: BoundSql, **values: Any) -> set[str]:
    """Return the names of the conditions that hold, with the values that they leave to be given."""
    with connection.cursor() as cursor:
        cursor.execute(question.sql, fill_in(question.params, values))
        return {name for (name,) in cursor.fetchall()}


class RepeatedQuestion:
    """A question that a process asks every few seconds. Planning it takes PostgreSQL ten times as long as answering it.

    While nothing happens, the plan is kept with the connection. It is made again after each busy time: one that was
    made for an empty table reads a full one from end to end. Behind a pooler, which may give each statement another
    connection, nothing is kept.
    """

    _numbers = count(1)

    def __init__(self, question: BoundSql, *, when_busy: Callable[[], set[str]] | None = None) -> None:
        """Ask the question, or `when_busy` another way to the same answer that takes less planning."""
        self._question = question
        self._ask_busy = when_busy or (lambda: ask(question))
        self._name = f"kilit_question_{next(self._numbers)}"
        self._is_pooled = False
        self._known: Any = None  # the connection that was asked about a pooler
        self._planned: Any = None  # the connection that keeps the plan

    def ask(self, *, is_busy: bool) -> set[str]:
        """Return the names of the conditions that hold."""
        connection.ensure_connection()
        if self._known is not connection.connection:
            self._is_pooled, self._known = connection.is_pooled(), connection.connection  # type: ignore[attr-defined]
        if is_busy or self._is_pooled:
            self._forget_plan()
            return self._ask_busy()
        if self._planned is not connection.connection:
            with connection.cursor() as cursor:
                text = cursor.mogrify(*self._question)
            self._run(f"PREPARE {self._name} AS {text}")
            self._planned = connection.connection
        return {name for (name,) in self._run(f"EXECUTE {self._name}")}

    def _forget_plan(self) -> None:
        if self._planned is connection.connection:
            self._run(f"DEALLOCATE {self._name}")
        self._planned = None

    @staticmethod
    def _run(statement: str) -> list[tuple[Any, ...]]:
        # Not by Django's cursor: the backend would take what it does not know as reading for a write.
        with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def any_exists(due: DueRows) -> BoundSql:
    """Return a condition in SQL: whether any of these querysets has a row."""
    found = [_exists(rows) for rows in due()]
    sql = " OR ".join(condition.sql for condition in found) or "false"
    return BoundSql(sql, tuple(param for condition in found for param in condition.params))


def _exists(rows: "QuerySet[Any]") -> BoundSql:
    # Rows with an order are looked for along its index: for EXISTS, the planner may read the table.
    is_ordered = bool(rows.query.order_by)
    query = rows.values("pk")[:1].query if is_ordered else rows.query.exists()
    try:
        sql, params = query.sql_with_params()
    except EmptyResultSet:  # Django knows without a query, as for `none()`
        return BoundSql("false", ())
    return BoundSql(f"({sql}) IS NOT NULL" if is_ordered else f"EXISTS ({sql})", tuple(params))
