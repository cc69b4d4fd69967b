"""Many rows born by one statement: thousands of instances, and a parameter for each column of each, would cost more."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import NOT_PROVIDED

from kilit.lock.audit import set_audit_context
from kilit.lock.guard import LifecycleModel


def insert_new(model: type[LifecycleModel], rows: Sequence[Mapping[str, Any]]) -> set[UUID]:
    """Insert rows told by their columns, in their order; return the ids of those that no unique index knew already.

    All rows name the same columns. The others take the defaults of their fields. Constraints, guards and the witness
    are the database's, so they see these rows as they see any other.
    """
    if not rows:
        return set()
    using = model._default_manager.db
    told = {str(field.column): field for field in model._meta.concrete_fields if field.attname in rows[0]}
    same = {
        str(field.column): field.get_db_prep_save(field.get_default(), connections[using])
        for field in model._meta.concrete_fields
        if field.column not in told and field.db_default is NOT_PROVIDED and (field.has_default() or not field.null)
    }
    columns = ", ".join(f'"{name}"' for name in (*told, *same))
    typed = ", ".join(f'"{name}" {field.db_type(connections[using])}' for name, field in told.items())
    values = ", ".join([*(f'row."{name}"' for name in told), *("%s" for _ in same)])
    sql = (  # its names and types are the model's own
        f'INSERT INTO "{model._meta.db_table}" ({columns}) SELECT {values}'  # noqa: S608
        f" FROM json_to_recordset(%s::json) AS row({typed}) ON CONFLICT DO NOTHING RETURNING id"
    )
    with transaction.atomic(using=using, savepoint=False), connections[using].cursor() as cursor:
        set_audit_context(verb="", using=using)
        plain = [{name: row[field.attname] for name, field in told.items()} for row in rows]
        cursor.execute(sql, [*same.values(), _json(plain)])
        return {pk for (pk,) in cursor.fetchall()}


def _json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    """Write what JSON has no word for as PostgreSQL reads it."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
