"""Creates a row, or finds the one with the same key: of any number of callers, the unique index lets one insert.

The statement is compiled once and has its audit context inside: a caller waits for it.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Any, TypeVar

from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from kilit.lock.audit import SET_CONTEXT, context_values

Row = TypeVar("Row", bound=models.Model)


class KeyTaken(Exception):
    """Another row has the key with other data: nothing was stored."""

    def __init__(self, row: models.Model, differing: Collection[str]) -> None:
        self.row, self.differing = row, list(differing)
        super().__init__(f"{row} has this key, with another {', '.join(differing)}. Nothing was stored.")


Fields = tuple["models.Field[Any, Any]", ...]

INSERT = """
    WITH context AS MATERIALIZED ({context})
    INSERT INTO "{table}" ({columns}) SELECT {values} FROM context
    ON CONFLICT DO NOTHING RETURNING {returned}
"""
LENGTHS = re.compile(r"\([\d,]*\)")


def insert_or_find(new: Row, existing: "models.QuerySet[Row]", *, same: Collection[str] = ()) -> tuple[Row, bool]:
    """Return the new row, or the row of `existing` that has its key; and whether it is new.

    KeyTaken says that the other row differs in a column of `same`: name what the key does not hold itself, or a caller
    who sends other data under a key takes it for stored. DoesNotExist says that the other row has freed the key
    meanwhile: try again.
    """
    using = existing.db
    connection = connections[using]
    values = {field: getattr(new, field.attname) for field in new._meta.concrete_fields}
    fields = tuple(field for field, value in values.items() if not isinstance(value, DatabaseDefault))
    params = [field.get_db_prep_save(values[field], connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(_insert(using, fields), [*context_values(verb=""), *params])
        row = cursor.fetchone()
    if row is None:
        found = existing.get()
        if differing := [name for name in same if getattr(found, name) != getattr(new, name)]:
            raise KeyTaken(found, differing)
        return found, False
    for field, value in zip(_with_database_defaults(fields), row, strict=True):
        setattr(new, field.attname, value)
    new._state.adding, new._state.db = False, using
    return new, True


@cache
def _insert(using: str, fields: Fields) -> str:
    # Without the length of a type: a cast would cut a text that is too long, and not refuse it.
    types = [LENGTHS.sub("", field.db_type(connections[using]) or "") for field in fields]
    return INSERT.format(
        context=SET_CONTEXT,
        table=fields[0].model._meta.db_table,
        columns=_columns(fields),
        values=", ".join(f"%s::{name}" for name in types),
        returned=_columns(_with_database_defaults(fields)),
    )


def _with_database_defaults(fields: Fields) -> Fields:
    return tuple(field for field in fields[0].model._meta.concrete_fields if field not in fields)


def _columns(fields: Fields) -> str:
    return ", ".join(f'"{field.column}"' for field in fields)
