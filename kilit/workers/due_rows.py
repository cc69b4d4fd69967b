"""Whether rows wait for work, for many queues in one statement."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from psycopg import Cursor

from kilit.database.sql import Row, read_rows
from kilit.lock.fast_sql import fill_in

# What a queue or a scheduled task would work on now, if any of these has a row. It is compiled once for each process,
# so every time in it is the database's: `Now()`, and no value of Python's clock.
DueRows = Callable[[], "Sequence[QuerySet[Any]]"]


class BoundSql(NamedTuple):
    """A statement or a condition; each run fills in its parameters (kilit.lock.fast_sql)."""

    sql: str
    params: tuple[Any, ...]

    def run(self, **values: object) -> set[str]:
        """Return the names that a statement selects."""
        return {name for (name,) in read_rows(self.sql, fill_in(self.params, values))}

    def is_true(self, **values: object) -> bool:
        return bool(BoundSql(f"SELECT '' WHERE {self.sql}", self.params).run(**values))


def exists_query(conditions: Mapping[str, BoundSql]) -> BoundSql:
    """Return the statement that names the true conditions; compiling them takes long, so supervisors keep it."""
    sql = " UNION ALL ".join(f"SELECT %s::text WHERE {condition.sql}" for condition in conditions.values())
    params = tuple(param for name, condition in conditions.items() for param in (name, *condition.params))
    return BoundSql(sql or "SELECT '' WHERE false", params)


class PreparedQuery:
    """A query that a process runs every few seconds. PostgreSQL plans it ten times as long as it runs it.

    While nothing happens, the plan is kept with the connection. It is made again after each busy time: one that was
    made for an empty table reads a full one from end to end. Behind a pooler, which may give each statement another
    connection, nothing is kept.
    """

    _numbers = count(1)

    def __init__(self, query: BoundSql, *, when_busy: Callable[[], set[str]] | None = None) -> None:
        """Run the query, or `when_busy`, which returns the same and takes less planning."""
        self._query = query
        self._run_busy = when_busy or query.run
        self._name = f"kilit_query_{next(self._numbers)}"
        self._is_pooled = False
        self._checked: object = None  # the connection that was checked for a pooler
        self._planned: object = None  # the connection that keeps the plan

    def run(self, *, is_busy: bool) -> set[str]:
        """Return the names of the conditions that are true."""
        connection.ensure_connection()
        if self._checked is not connection.connection:
            self._is_pooled, self._checked = connection.is_pooled(), connection.connection  # type: ignore[attr-defined]
        if is_busy or self._is_pooled:
            self._forget_plan()
            return self._run_busy()
        if self._planned is not connection.connection:
            with connection.cursor() as cursor:
                text = cursor.mogrify(*self._query)
            self._execute(f"PREPARE {self._name} AS {text}")
            self._planned = connection.connection
        return {name for (name,) in self._execute(f"EXECUTE {self._name}")}

    def _forget_plan(self) -> None:
        if self._planned is connection.connection:
            self._execute(f"DEALLOCATE {self._name}")
        self._planned = None

    @staticmethod
    def _execute(statement: str) -> list[Row]:
        # Not by Django's cursor: the backend would take what it does not know as reading for a write.
        with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def any_exists(due: DueRows) -> BoundSql:
    """Return a condition in SQL: whether any of these querysets has a row."""
    conditions = [_exists(rows) for rows in due()]
    sql = " OR ".join(condition.sql for condition in conditions) or "false"
    return BoundSql(sql, tuple(param for condition in conditions for param in condition.params))


def _exists(rows: "QuerySet[Any]") -> BoundSql:
    # Rows with an order are looked for along its index: for EXISTS, the planner may read the table.
    is_ordered = bool(rows.query.order_by)
    query = rows.values("pk")[:1].query if is_ordered else rows.query.exists()
    try:
        sql, params = query.sql_with_params()
    except EmptyResultSet:  # Django knows without a query, as for `none()`
        return BoundSql("false", ())
    return BoundSql(f"({sql}) IS NOT NULL" if is_ordered else f"EXISTS ({sql})", tuple(params))
