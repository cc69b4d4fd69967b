"""What `lifecycle_triggers` was given to guard, read back from a model's triggers."""

import re
from typing import Any

import pgtrigger
from django.db.models import QuerySet

COLUMN_GUARDS = ("counters", "settled", "by_hand_is_decided")
# Another value for a column, in SQL; numbers are raised by one.
OTHER = {
    "CharField": "'x'",
    "TextField": "'x'",
    "UUIDField": "gen_random_uuid()",
    "JSONField": "'[\"x\"]'",
    "DateTimeField": "'infinity'",
}


def fixed_columns(model: type[Any]) -> list[str]:
    return [column for column in _compared(model, "fixed_identity") if column != "id"]


def counters(model: type[Any]) -> list[str]:
    return [column for column in _compared(model, "counters") if column != "status"]


def write_unguarded(rows: QuerySet[Any], **columns: Any) -> None:
    """Write past the guards of columns, for rows that have come further than a test wants to go."""
    meta = rows.model._meta
    guards = [trigger.name for trigger in meta.triggers if trigger.name in COLUMN_GUARDS]
    with pgtrigger.ignore(*(f"{meta.label}:{name}" for name in guards)):
        rows.update(**columns)


def other_value(model: type[Any], column: str) -> str:
    field = model._meta.get_field(column)
    while field.remote_field:
        field = field.target_field
    return OTHER.get(field.get_internal_type(), f"coalesce({column}, 0) + 1")


def _compared(model: type[Any], trigger: str) -> list[str]:
    """Return the columns that a trigger's WHEN clause compares."""
    conditions = [each.condition.sql for each in model._meta.triggers if each.name == trigger]
    return list(dict.fromkeys(re.findall(r"OLD\.(\w+)", " ".join(conditions))))
