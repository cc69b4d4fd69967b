"""The statement that inserts a job, compiled once and with its audit context: a caller waits for it."""

from functools import cache
from typing import Any

from django.db import connections, models
from django.db.models.expressions import DatabaseDefault

from kilit.lock.audit import SET_CONTEXT, context_values
from kilit.lock.leases import LeasedModel

INSERT = """
    WITH context AS MATERIALIZED ({context})
    INSERT INTO pdfjobs_pdfjob ({columns}) SELECT {values} FROM context
    ON CONFLICT DO NOTHING RETURNING created_at
"""


def insert_unless_taken(job: LeasedModel) -> bool:
    """Insert a new job and set the time of its creation; return False if the owner has a live job with its key."""
    using = type(job)._default_manager.db
    connection = connections[using]
    values = {field: getattr(job, field.attname) for field in job._meta.concrete_fields}
    fields = tuple(field for field, value in values.items() if not isinstance(value, DatabaseDefault))
    params = [field.get_db_prep_save(values[field], connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(_insert(using, fields), [*context_values(verb=""), *params])
        row = cursor.fetchone()
    if row:
        (job.created_at,) = row
    return row is not None


@cache
def _insert(using: str, fields: "tuple[models.Field[Any, Any], ...]") -> str:
    # Without the length of a type: a cast would cut a text that is too long, and not refuse it.
    types = [(field.db_type(connections[using]) or "").partition("(")[0] for field in fields]
    return INSERT.format(
        context=SET_CONTEXT,
        columns=", ".join(f'"{field.column}"' for field in fields),
        values=", ".join(f"%s::{name}" for name in types),
    )
