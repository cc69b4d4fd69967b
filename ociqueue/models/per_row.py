"""Values that differ from row to row in one UPDATE: one answer of a provider settles thousands of rows."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, CharField, DurationField, F, Field
from django.db.models.expressions import Func, Value
from django.db.models.sql.compiler import SQLCompiler


class JsonColumn(Func):
    """A key of a JSON object that is looked up by the row's id; the JSON of all rows is one parameter."""

    def __init__(self, values: str, key: str, *, cast: str, output_field: "Field[Any, Any]") -> None:
        super().__init__(Value(values), F("pk"), Value(key), output_field=output_field)
        self.cast = cast

    def as_sql(self, compiler: SQLCompiler, connection: object, **_options: object) -> tuple[str, list[Any]]:  # type: ignore[override]
        parts = [compiler.compile(part) for part in self.source_expressions]
        values, row, key = (sql for sql, _ in parts)
        return f"(({values}::jsonb -> {row}::text) ->> {key})::{self.cast}", [p for _, params in parts for p in params]


class PerRowValues:
    """The values of rows, given by groups: the ids of rows, and the values that they share."""

    def __init__(self, *groups: tuple[Sequence[UUID], Mapping[str, object]]) -> None:
        self._groups = groups

    @cached_property
    def ids(self) -> list[UUID]:
        return [pk for ids, _ in self._groups for pk in ids]

    @cached_property
    def _json(self) -> str:
        return json.dumps({str(pk): dict(values) for ids, values in self._groups for pk in ids})

    def shared(self, key: str) -> object:
        """Return the value that all rows have, or None if they differ."""
        distinct = {values.get(key) for _, values in self._groups}
        return distinct.pop() if len(distinct) == 1 else None

    def text(self, key: str) -> "JsonColumn | Value":
        """Return a text; when it is the same for every row, it is passed once and not looked up."""
        shared = self.shared(key)
        if shared is not None:
            return Value(shared, output_field=CharField())
        return JsonColumn(self._json, key, cast="text", output_field=CharField())

    def is_true(self, key: str) -> JsonColumn:
        return JsonColumn(self._json, key, cast="boolean", output_field=BooleanField())

    def duration(self, key: str) -> JsonColumn:
        """Return a PostgreSQL interval, given as `90 seconds`; NULL for rows without one."""
        return JsonColumn(self._json, key, cast="interval", output_field=DurationField())
