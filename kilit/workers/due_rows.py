"""Whether rows wait for work, asked about many queues in one statement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

# What a queue or a scheduled task would work on now, if any of these has a row. It is compiled once for each process,
# so every time in it is the database's: `Now()`, and no value of Python's clock.
DueRows = Callable[[], "Sequence[QuerySet[Any]]"]


class BoundSql(NamedTuple):
    sql: str
    params: tuple[Any, ...]


def question(conditions: Mapping[str, BoundSql]) -> BoundSql:
    """Return the statement that asks which conditions hold; compiling them takes long, so supervisors keep it."""
    sql = " UNION ALL ".join(f"SELECT %s::text WHERE {condition.sql}" for condition in conditions.values())
    return BoundSql(sql, tuple(param for name, found in conditions.items() for param in (name, *found.params)))


def ask(question: BoundSql) -> set[str]:
    """Return the names of the conditions that hold."""
    with connection.cursor() as cursor:
        cursor.execute(*question)
        return {name for (name,) in cursor.fetchall()}


def any_exists(due: DueRows) -> BoundSql:
    """Return a condition in SQL: whether any of these querysets has a row."""
    found = [_exists(rows) for rows in due()]
    sql = " OR ".join(condition.sql for condition in found) or "false"
    return BoundSql(sql, tuple(param for condition in found for param in condition.params))


def _exists(rows: "QuerySet[Any]") -> BoundSql:
    try:
        sql, params = rows.query.exists().sql_with_params()
    except EmptyResultSet:  # Django knows without a query, as for `none()`
        return BoundSql("false", ())
    return BoundSql(f"EXISTS ({sql})", tuple(params))
