"""One statement of plain SQL, where no queryset can say the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

Params = Any  # a sequence, or a mapping by name
Row = tuple[Any, ...]
EACH = "SELECT NUMBER, part.* FROM (STATEMENT) AS part"


def read_rows(statement: str, params: Params = ()) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def read_each(statement: str, values: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
    """Return the rows of a statement for each of several sets of values, in one round trip."""
    parts = (
        EACH.replace("NUMBER", str(number)).replace("STATEMENT", statement.replace("%(", f"%(v{number}_"))
        for number in range(len(values))
    )
    params = {f"v{number}_{name}": value for number, each in enumerate(values) for name, value in each.items()}
    rows: list[list[Row]] = [[] for _ in values]
    for number, *row in read_rows(" UNION ALL ".join(parts), params) if values else ():
        rows[number].append(tuple(row))
    return rows


def read_row(statement: str, params: Params = ()) -> Row:
    (row,) = read_rows(statement, params)
    return row


def execute(statement: str, params: Params = ()) -> int:
    """Return how many rows were written."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return int(cursor.rowcount)
