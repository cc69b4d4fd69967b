"""Values that differ from row to row, in one statement: an answer of a provider settles thousands of rows at once."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import BooleanField, CharField, DurationField, F, Field, QuerySet
from django.db.models.expressions import Func, Value
from django.db.models.lookups import IsNull

Rows = TypeVar("Rows", bound="QuerySet[Any]")


class Told(Func):
    """What was told of a row, looked up by its id; what was told of all rows is one parameter."""

    def __init__(self, values: str, key: str, *, cast: str, output_field: "Field[Any, Any]") -> None:
        super().__init__(Value(values), F("pk"), Value(key), output_field=output_field)
        self.cast = cast

    def as_sql(self, compiler: Any, connection: Any, **_options: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Look up the row, then the key."""
        parts = [compiler.compile(part) for part in self.source_expressions]
        values, row, key = (sql for sql, _ in parts)
        return f"(({values}::jsonb -> {row}::text) ->> {key})::{self.cast}", [p for _, params in parts for p in params]


class PerRowValues:
    """Named values for each of several rows."""

    def __init__(self, values: Mapping[UUID, Mapping[str, Any]]) -> None:
        self._values = values

    @cached_property
    def _json(self) -> str:
        return json.dumps({str(pk): dict(told) for pk, told in self._values.items()})

    def rows_of(self, rows: Rows) -> Rows:
        """Return the rows that something is told of."""
        return rows.filter(pk__any_of=self._values.keys())

    def text(self, key: str) -> "Told | Value":
        """Return a text; one that was told of every row alike is not looked up for each."""
        alike = {told.get(key) for told in self._values.values()}
        if len(alike) == 1:
            return Value(alike.pop(), output_field=CharField())
        return Told(self._json, key, cast="text", output_field=CharField())

    def is_true(self, key: str) -> Told:
        return Told(self._json, key, cast="boolean", output_field=BooleanField())

    def span(self, key: str) -> Told:
        """Return a length of time, told as PostgreSQL speaks it: `90 seconds`."""
        return Told(self._json, key, cast="interval", output_field=DurationField())

    def has(self, key: str) -> IsNull:
        return IsNull(self.text(key), False)  # noqa: FBT003 - Django's own signature
