"""One statement of plain SQL, where no queryset can say the same."""

from typing import Any

from django.db import connection

Params = Any  # a sequence, or a mapping by name
Row = tuple[Any, ...]


def read_rows(statement: str, params: Params = ()) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def read_row(statement: str, params: Params = ()) -> Row:
    (row,) = read_rows(statement, params)
    return row


def execute(statement: str, params: Params = ()) -> int:
    """Return how many rows were written."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return int(cursor.rowcount)
