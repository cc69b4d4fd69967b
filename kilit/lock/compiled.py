"""Queries that Django compiles once in a process, for the few that each request of a script or a shop runs.

Building a query and compiling it takes Django 1 to 4 ms of Python, longer than PostgreSQL takes to find a key or a
site. So the rules stay in querysets, and only what differs from one run to the next is a `parameter`:

    HELD = CompiledQuery(lambda: ApiKey.objects.valid().filter(digest=parameter("digest", CharField())))
    HELD.first(digest="…")

Nothing of a row is kept between two runs, and PostgreSQL prepares nothing: each run sends the whole statement, so a
pooler may give it to any connection. Checked with Django 5.2 (`ModelIterable` and `get_related_populators`, by which
a queryset makes its instances).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from django.db import connections, models
from django.db.models.expressions import RawSQL
from django.db.models.query import get_related_populators

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True)
class Parameter:
    """Stands for a value in a compiled statement."""

    name: str


def parameter(name: str, field: "models.Field[Any, Any]") -> RawSQL:
    """Return an expression for a value that each run gives under this name."""
    return RawSQL("%s", (Parameter(name),), field)


def fill_in(params: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    return [values[param.name] if isinstance(param, Parameter) else param for param in params]


class CompiledQuery(Generic[Row]):
    """A query for instances, with what it selects along."""

    def __init__(self, build: "Callable[[], models.QuerySet[Row]]") -> None:
        self._build = build  # called when it is first needed: models are not loaded before

    def first(self, **values: Any) -> Row | None:
        compiled = self._first
        with connections[compiled.using].cursor() as cursor:
            cursor.execute(compiled.statement, fill_in(compiled.params, values))
            row = cursor.fetchone()
        return cast("Row", compiled.instance(row)) if row else None

    def all(self, **values: Any) -> list[Row]:
        compiled = self._all
        with connections[compiled.using].cursor() as cursor:
            cursor.execute(compiled.statement, fill_in(compiled.params, values))
            return [cast("Row", compiled.instance(row)) for row in cursor.fetchall()]

    @cached_property
    def _first(self) -> "_Compiled":
        return _Compiled(self._build()[:1])

    @cached_property
    def _all(self) -> "_Compiled":
        return _Compiled(self._build())


class CompiledValues:
    """A query for values, by `values_list`."""

    def __init__(self, rows: "models.QuerySet[Any, Any]") -> None:
        self._using = rows.db
        self._statement, self._params = rows.query.get_compiler(using=rows.db).as_sql()

    def run(self, **values: Any) -> list[tuple[Any, ...]]:
        with connections[self._using].cursor() as cursor:
            cursor.execute(self._statement, fill_in(self._params, values))
            return cast("list[tuple[Any, ...]]", cursor.fetchall())


class _Compiled:
    """The statement, and how a row of its result becomes an instance; nothing of it belongs to a connection."""

    def __init__(self, rows: "models.QuerySet[Any]") -> None:
        compiler: Any = rows.query.get_compiler(using=rows.db)
        self.using = rows.db
        self.statement, self.params = compiler.as_sql()
        info, select = compiler.klass_info, compiler.select
        if compiler.get_converters([column[0] for column in select]):
            raise TypeError("compiled queries do not convert what the database returns")
        self._model = info["model"]
        first, last = info["select_fields"][0], info["select_fields"][-1]
        self._own = slice(first, last + 1)
        self._names = [column[0].target.attname for column in select[self._own]]
        self._related = get_related_populators(info, select, rows.db)  # type: ignore[call-arg] # stubs of a later Django
        self._annotations = compiler.annotation_col_map

    def instance(self, row: Sequence[Any]) -> Any:
        instance = self._model.from_db(self.using, self._names, row[self._own])
        for related in self._related:
            related.populate(row, instance)
        for name, place in self._annotations.items():
            setattr(instance, name, row[place])
        return instance
