"""Values that differ from row to row in one UPDATE: one answer of a provider settles thousands of rows."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, CharField, DurationField, F, Field
from django.db.models.expressions import Func, Value


class JsonColumn(Func):
    """A key of a JSON object that is looked up by the row's id; the JSON of all rows is one parameter."""

    def __init__(self, values: str, key: str, *, cast: str, output_field: "Field[Any, Any]") -> None:
        super().__init__(Value(values), F("pk"), Value(key), output_field=output_field)
        self.cast = cast

    def as_sql(self, compiler: Any, connection: Any, **_options: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        parts = [compiler.compile(part) for part in self.source_expressions]
        values, row, key = (sql for sql, _ in parts)
        return f"(({values}::jsonb -> {row}::text) ->> {key})::{self.cast}", [p for _, params in parts for p in params]


class PerRowValues:
    def __init__(self, values: Mapping[UUID, Mapping[str, Any]]) -> None:
        self._values = values

    @cached_property
    def _json(self) -> str:
        return json.dumps({str(pk): dict(values) for pk, values in self._values.items()})

    @property
    def ids(self) -> AbstractSet[UUID]:
        return self._values.keys()

    def text(self, key: str) -> "JsonColumn | Value":
        """Return a text; when it is the same for every row, it is passed once and not looked up."""
        distinct = {values.get(key) for values in self._values.values()}
        if len(distinct) == 1:
            return Value(distinct.pop(), output_field=CharField())
        return JsonColumn(self._json, key, cast="text", output_field=CharField())

    def is_true(self, key: str) -> JsonColumn:
        return JsonColumn(self._json, key, cast="boolean", output_field=BooleanField())

    def duration(self, key: str) -> JsonColumn:
        """Return a PostgreSQL interval, given as `90 seconds`; NULL for rows without one."""
        return JsonColumn(self._json, key, cast="interval", output_field=DurationField())
