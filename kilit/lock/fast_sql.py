"""The few fast paths: statements that are compiled once, and SQL for thousands of rows at once.

Django takes 1 to 4 ms of Python to build a query and compile it, longer than PostgreSQL takes to find a key or a site.
So the rules stay in querysets, compiled once in a process, and only what differs from one run to the next is a
`parameter`:

    HELD = CompiledQuery(lambda: ApiKey.objects.valid().filter(digest=parameter("digest", CharField())))
    HELD.first(digest="…")

Nothing of a row is kept between two runs, and PostgreSQL prepares nothing: each run sends the whole statement, so a
pooler may give it to any connection.

Checked with Django 5.2 and psycopg 3.3; `tests/kilit/lock/test_fast_sql.py` fails when either moves on. These parts of
them are not documented, so read them again then:

- `ModelIterable` and `get_related_populators`, by which a queryset makes its instances;
- `QuerySet.query.get_compiler().as_sql()` and `UpdateQuery.add_update_values()`, which `PickAndUpdate` joins into one
  statement;
- `ModelState` and `Model.__new__`, by which `fast_instance` makes a row without `Model.__init__`;
- `Field.get_db_converters()` and `cached_col`, by which `_convert` reads columns as a queryset would;
- Django's own loader for `timestamptz`, which `_read_times_fast` replaces by psycopg's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import NOT_PROVIDED, Lookup, UUIDField
from django.db.models.base import ModelState
from django.db.models.expressions import RawSQL
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from psycopg import Cursor, adapters
from psycopg.abc import Loader
from psycopg.pq import Format
from pydantic_core import to_json

from kilit.lock.audit import SET_CONTEXT, context_values, set_audit_context
from kilit.lock.outages import note_write

Row = TypeVar("Row", bound=models.Model)
Instance = TypeVar("Instance", bound=models.Model)
Values = tuple[Any, ...]
Loaders = Mapping[str, type[Loader]]
NO_LOADERS: Loaders = MappingProxyType({})
ALL_OR_IDS = 'count(*), CASE WHEN count(*) < %s THEN array_agg("id") END'


@dataclass(frozen=True)
class Parameter:
    """Stands for a value in a compiled statement."""

    name: str


def parameter(name: str, field: "models.Field[Any, Any]") -> RawSQL:
    """Return an expression for a value that each run gives under this name."""
    return RawSQL("%s", (Parameter(name),), field)


def fill_in(params: Sequence[object], values: Mapping[str, object]) -> list[Any]:
    return [values[param.name] if isinstance(param, Parameter) else param for param in params]


class Statement:
    """A compiled statement; nothing of it belongs to a connection."""

    def __init__(self, using: str, sql: str, params: Sequence[object]) -> None:
        self._using, self._sql, self._params = using, sql, tuple(params)

    def run(self, **values: object) -> list[Values]:
        with connections[self._using].cursor() as cursor:
            cursor.execute(self._sql, fill_in(self._params, values))
            return cast("list[Values]", cursor.fetchall())


class CompiledValues(Statement):
    """A query for values, by `values_list`."""

    def __init__(self, rows: "models.QuerySet[Any, Any]") -> None:
        super().__init__(rows.db, *rows.query.get_compiler(using=rows.db).as_sql())


class CompiledQuery(Generic[Row]):
    """A query for instances, with what it selects along."""

    def __init__(self, build: "Callable[[], models.QuerySet[Row]]") -> None:
        self._build = build  # called when it is first needed: models are not loaded before

    def first(self, **values: object) -> Row | None:
        return next(iter(self._first.instances(**values)), None)

    def all(self, **values: object) -> list[Row]:
        return self._all.instances(**values)

    @cached_property
    def _first(self) -> "_CompiledInstances":
        return _CompiledInstances(self._build()[:1])

    @cached_property
    def _all(self) -> "_CompiledInstances":
        return _CompiledInstances(self._build())


class _CompiledInstances(Statement):
    def __init__(self, rows: "models.QuerySet[Any]") -> None:
        compiler: Any = rows.query.get_compiler(using=rows.db)
        super().__init__(rows.db, *compiler.as_sql())
        info, select = compiler.klass_info, compiler.select
        if compiler.get_converters([column[0] for column in select]):
            raise TypeError("compiled queries do not convert what the database returns")
        self._model = info["model"]
        first, last = info["select_fields"][0], info["select_fields"][-1]
        self._own = slice(first, last + 1)
        self._names = [column[0].target.attname for column in select[self._own]]
        self._related = get_related_populators(info, select, rows.db)  # type: ignore[call-arg] # stubs of a later Django
        self._annotations = compiler.annotation_col_map

    def instances(self, **values: object) -> list[Any]:
        return [self._instance(row) for row in self.run(**values)]

    def _instance(self, row: Values) -> object:
        instance = self._model.from_db(self._using, self._names, row[self._own])
        for related in self._related:
            related.populate(row, instance)
        for name, place in self._annotations.items():
            setattr(instance, name, row[place])
        return instance


@UUIDField.register_lookup
class AnyOf(Lookup[Any]):
    """`filter(pk__any_of=ids)` finds what `pk__in` finds, with one array instead of a parameter for each id."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:  # type: ignore[override]
        column, params = self.process_lhs(compiler, connection)
        ids = self.rhs if isinstance(self.rhs, Parameter) else uuid_array(self.rhs)
        return f"{column} = ANY(%s::uuid[])", [*params, ids]


def uuid_array(ids: Iterable[UUID]) -> str:
    return "{" + ",".join(pk.hex for pk in ids) + "}"


class PickAndUpdate:
    """Locks rows and updates them in one statement; returns the fields `returning` of each, sorted by `order`.

    `rows` says which rows, and by `order_by().select_for_update()` in which order they are locked and whether rows that
    another transaction has locked are skipped. The pick is MATERIALIZED, or the planner may run its LIMIT twice.
    `loaders` are psycopg's, by types of PostgreSQL, where others than the usual ones read the values. With `expected`,
    the one row that it returns is how many were updated and, only if these are fewer than expected, their ids.

    With a `verb`, the statement itself passes the audit context to the recorder. The ids of the rows to update are read
    from a join with that part, so no row is updated before the context is set; the recorder runs after the statement.
    """

    def __init__(
        self,
        rows: models.QuerySet[Any, Any],
        changes: dict[str, Any],
        *,
        returning: Sequence[Any] = (),
        order: Sequence[Any] = (),
        limit: int | None = None,
        expected: Parameter | None = None,
        loaders: Loaders = NO_LOADERS,
        verb: str | None = None,
    ) -> None:
        self._using, self._returning, self._loaders, self._verb = rows.db, returning, loaders, verb
        self._params: Values = ()
        # By the name `pk`: for any other alias Django drops the OF of FOR UPDATE and locks joined tables too.
        picked = rows.values("pk")[:limit]
        try:
            pick, pick_params = picked.query.get_compiler(using=self._using).as_sql()
        except EmptyResultSet:  # Django knows without a query, as for `pk__in=[]`
            self._statement = ""
            return
        context, source = (f"context AS MATERIALIZED ({SET_CONTEXT}), ", "picked, context") if verb else ("", "picked")
        update, update_params = _update_of_picked(rows.model, changes, source, using=self._using)
        ends = f" ORDER BY {_columns(order)}" if order else ""
        if expected:
            returning, ends = [rows.model._meta.pk], ""
        selected = ALL_OR_IDS if expected else _columns(returning)
        self._params = (*pick_params, *update_params, *([expected] if expected else []))
        self._statement = (  # made by Django, and of the model's own names
            f"WITH {context}picked AS MATERIALIZED ({pick}),"
            f" updated AS ({update} RETURNING {_columns((*returning, *order))}) SELECT {selected} FROM updated{ends}"
        )

    def run(self, **values: object) -> list[Values]:
        if not self._statement:
            return []
        with connections[self._using].cursor() as cursor:
            _read_times_fast(cursor)
            for type_name, loader in self._loaders.items():
                cursor.cursor.adapters.register_loader(type_name, loader)
            context = context_values(self._verb) if self._verb else []
            cursor.execute(self._statement, [*context, *fill_in(self._params, values)])
            return _convert(self._returning, cursor.fetchall(), using=self._using)


def _update_of_picked(
    model: type[models.Model], changes: dict[str, object], source: str, *, using: str
) -> tuple[str, Any]:
    # As an array: joined to the pick, the planner would rather read a small table from end to end.
    is_picked = f'"{model._meta.db_table}"."id" = ANY(ARRAY(SELECT picked.pk FROM {source}))'
    chosen = model._base_manager.filter(RawSQL(is_picked, (), models.BooleanField()))
    return compile_update(chosen, changes, using=using)


def compile_update(rows: models.QuerySet[Any, Any], changes: dict[str, object], *, using: str) -> tuple[str, Any]:
    query = cast("UpdateQuery", rows.query.chain(UpdateQuery))
    query.add_update_values(changes)
    statement, params = query.get_compiler(using=using).as_sql()
    return statement, params


class CompiledUpdate(Statement):
    """`rows.update(**changes)`, which returns something of each row."""

    def __init__(
        self, rows: models.QuerySet[Any, Any], changes: dict[str, Any], returning: str, *params: Parameter
    ) -> None:
        update, update_params = compile_update(rows, changes, using=rows.db)
        super().__init__(rows.db, f"{update} RETURNING {returning}", (*update_params, *params))


class IndexHint:
    """Opens transactions whose statements follow an index that has their order, unless that would be slow.

    The planner goes by cost alone. With statistics from a time when few rows waited, it reads and sorts all waiting
    rows for each claim. `passed` are rows of the index that the statements leave out: if there are `most` or more, the
    planner decides. They need an order that has an index, or looking for them could read a whole table.
    Before PostgreSQL 18, a sort that is needed nevertheless makes a plan look so expensive that it would be compiled,
    which takes longer than a claim.
    """

    def __init__(self, passed: models.QuerySet[Any, Any], *, most: int = 100) -> None:
        self._using = passed.db
        try:
            some, self._params = passed.values("pk")[:most].query.get_compiler(using=passed.db).as_sql()
        except EmptyResultSet:
            some, self._params = "SELECT WHERE false", ()
        are_few = f"(SELECT count(*) FROM ({some}) AS passed) < {most}"
        sort = f"CASE WHEN {are_few} THEN 'off' ELSE current_setting('enable_sort') END"
        self._statement = f"SELECT set_config('enable_sort', {sort}, true), set_config('jit', 'off', true)"

    @contextmanager
    def transaction(self, **values: object) -> Iterator[None]:
        connection = connections[self._using]
        is_part = connection.in_atomic_block
        with transaction.atomic(using=self._using, savepoint=False), connection.cursor() as cursor:
            cursor.execute(self._statement, fill_in(self._params, values))
            yield
            if is_part:  # else they end with the transaction
                cursor.execute("SET LOCAL enable_sort TO DEFAULT; SET LOCAL jit TO DEFAULT")


@dataclass(frozen=True)
class KeyTable:
    """A table for what is unique in another: its columns, each as an expression over a `{row}` of the other."""

    name: str
    columns: Mapping[str, str]

    def values_of(self, row: str) -> dict[str, str]:
        return {column: expression.format(row=row) for column, expression in self.columns.items()}


def bulk_insert(
    model: type[models.Model], rows: Sequence[Mapping[str, Any]], *, keys: KeyTable | None = None
) -> set[UUID]:
    """Insert rows in their order; return the ids of those that a unique index rejected.

    All rows name the same fields; the others take the defaults of their fields. The rows travel as one JSON document,
    because instances and a parameter for each value would cost more than the insert; what all rows share travels once.
    Constraints and triggers see them as they see any other row. With `keys`, what must be unique is in a table of its
    own: the keys are inserted first, and a row only if its key was.
    """
    if not rows:
        return set()
    connection = connections[model._default_manager.db]
    first, count = rows[0], len(rows)
    shared = {name for name in first if name != "id" and [row[name] for row in rows].count(first[name]) == count}
    once = {name: first[name] for name in shared} | {
        str(field.attname): field.get_db_prep_save(field.get_default(), connection)
        for field in model._meta.concrete_fields
        if field.attname not in first and field.db_default is NOT_PROVIDED and (field.has_default() or not field.null)
    }
    varying = [name for name in first if name not in shared]
    document = to_json([{name: row[name] for name in varying} for row in rows]).decode()
    with transaction.atomic(using=connection.alias, savepoint=False):
        set_audit_context(verb="", using=connection.alias)
        # Not Django's cursor, which would copy the document into the statement, to be quoted here and parsed there.
        with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
            inserted = cursor.execute(_insert(model, varying, once, keys), [*once.values(), document]).rowcount
        note_write()
        if inserted == count:  # as mostly; to have every id returned would take a tenth longer
            return set()
        ids = {row["id"] for row in rows}
        return ids.difference(model._base_manager.filter(pk__any_of=ids).values_list("pk", flat=True))


def _insert(model: type[models.Model], varying: Iterable[str], once: Iterable[str], keys: KeyTable | None) -> bytes:
    """Return the statement for a document of the fields `varying`, and a parameter for each of the fields `once`."""
    connection = connections[model._default_manager.db]
    fields = {field.attname: field for field in model._meta.concrete_fields}
    types = {name: field.db_type(connection) for name, field in fields.items()}
    columns = ", ".join(f'"{fields[name].column}"' for name in (*varying, *once))
    values = [
        *(f'row."{name}" AS "{fields[name].column}"' for name in varying),
        *(f'%s::{types[name]} AS "{fields[name].column}"' for name in once),
    ]
    typed = ", ".join(f'"{name}" {types[name]}' for name in varying)
    new_rows = f"SELECT {', '.join(values)} FROM json_to_recordset(%s::json) AS row({typed})"
    insert = f'INSERT INTO "{model._meta.db_table}" ({columns})'
    if not keys:
        return f"{insert} {new_rows} ON CONFLICT DO NOTHING".encode()
    own = keys.values_of("new_rows")
    return (  # its names and types are the models' own
        f"WITH new_rows AS MATERIALIZED ({new_rows}), keys AS ("
        f'INSERT INTO "{keys.name}" ({", ".join(own)}) SELECT {", ".join(own.values())} FROM new_rows'
        f" ON CONFLICT DO NOTHING RETURNING id)"
        f" {insert} SELECT {columns} FROM new_rows WHERE id IN (SELECT id FROM keys)"
    ).encode()


def fast_instance(model: type[Instance], using: str, names: Sequence[str], values: Values) -> Instance:
    """Return an instance as `from_db` does, in a tenth of its time; for models without an `__init__` of their own."""
    return fast_instances(model, using, names, [values])[0]


def fast_instances(model: type[Instance], using: str, names: Sequence[str], rows: Iterable[Values]) -> list[Instance]:
    instances = []
    for values in rows:
        row, state = model.__new__(model), ModelState()
        state.adding, state.db = False, using
        row.__dict__ = dict(zip(names, values, strict=True), _state=state)
        instances.append(row)
    return instances


def _columns(fields: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(f'"{field.column}"' for field in fields))


def _convert(fields: Sequence[Any], rows: list[Values], *, using: str) -> list[Values]:
    """Apply the fields' own converters; most fields need no converter."""
    connection = connections[using]
    converters = {
        place: (functions_of_field, field.cached_col)
        for place, field in enumerate(fields)
        if (functions_of_field := field.get_db_converters(connection))
    }
    if not converters:
        return rows
    converted = [list(row) for row in rows]
    for place, (functions, column) in converters.items():
        for row in converted:
            for function in functions:
                row[place] = function(row[place], column, connection)
    return [tuple(row) for row in converted]


def _read_times_fast(cursor: Any) -> None:
    # Django's loader is written in Python and takes longer than all other columns of a row together.
    loader = adapters.get_loader(adapters.types["timestamptz"].oid, Format.TEXT)
    cursor.cursor.adapters.register_loader("timestamptz", loader)
