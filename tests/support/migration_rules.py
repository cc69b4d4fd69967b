"""Judges whether a migration may run beside the code of the version before it.

The rules, as docs/deployment.md tells them to developers: nothing is taken away that running code uses, no table is
rewritten or scanned under a lock, and old code can go on inserting.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib.postgres import operations as postgres
from django.db import connection, migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger, RemoveTrigger

# Quick whatever the table holds: they change the catalogue, or build beside those who write.
HARMLESS = (
    AddTrigger,
    RemoveTrigger,
    migrations.CreateModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RemoveIndex,
    migrations.RemoveConstraint,
    postgres.AddConstraintNotValid,
    postgres.AddIndexConcurrently,
    postgres.RemoveIndexConcurrently,
    postgres.ValidateConstraint,
)
# Running code still names what these take away or call otherwise.
TAKES_AWAY = (
    migrations.DeleteModel,
    migrations.RemoveField,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)
MAKES_A_FUNCTION = re.compile(r"^\s*CREATE OR REPLACE FUNCTION\b", re.IGNORECASE)
FILLS = re.compile(r"^\s*INSERT INTO\s+(\w+)", re.IGNORECASE)
# How a table is stored is written into the catalogue alone, under a lock that stops neither readers nor writers.
SETTING = r"(?:fillfactor|autovacuum_\w+) = [\d.]+"
STORES = re.compile(rf"^ALTER TABLE \w+ SET \({SETTING}(?:, ?{SETTING})*\)$")


def faults(migration: migrations.Migration, before: ProjectState) -> Iterator[str]:
    """Say what is unsafe about a migration, given the models before it."""
    app, state, born = migration.app_label, before.clone(), set()
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            born.add(operation.name.lower())
        after = state.clone()
        operation.state_forwards(app, after)
        table_is_new = getattr(operation, "model_name", "").lower() in born
        if not table_is_new and (fault := fault_of(operation, app, state, after, born)):
            yield f"{operation.describe()}: {fault}"
        state = after


def fault_of(  # noqa: PLR0911 - a line for each rule
    operation: Operation, app: str, state: ProjectState, after: ProjectState, born: set[str]
) -> str | None:
    """Say what is unsafe about one operation on a table that is there already."""
    match operation:
        case migrations.AddField():
            return fault_of_column(operation.field)
        case migrations.AddIndex() if type(operation) is migrations.AddIndex:
            return "the table cannot be written while it is built; use AddIndexConcurrently and atomic = False"
        case migrations.AddConstraint() if type(operation) is migrations.AddConstraint:
            return "the table is scanned under a lock; use AddConstraintNotValid, and ValidateConstraint in the next"
        case migrations.AlterField():
            return "it changes the table" if changes_the_table(operation, app, state, after) else None
        case migrations.RunSQL():
            return fault_of_sql(operation, app, born)
        case migrations.RunPython():
            return "nobody can tell what it locks"
        case migrations.SeparateDatabaseAndState():
            found = (fault_of(each, app, state, after, born) for each in operation.database_operations)
            return next((fault for fault in found if fault), None)
    if isinstance(operation, TAKES_AWAY):
        return "running code still uses it; take it away one version later"
    return None if isinstance(operation, HARMLESS) else "no rule knows it"


def fault_of_column(field: Any) -> str | None:
    """Say whether old code could no longer insert, or the table would be rewritten."""
    if not field.null and not field.has_db_default() and not isinstance(field, models.ManyToManyField):
        return "old code inserts without it; let it be null or give it a db_default"
    if field.db_index or field.unique:
        return "its index is built while nobody can write; make one with AddIndexConcurrently"
    if field.has_db_default() and not isinstance(field.db_default, str | int | bool | float | list | models.Value):
        return "a default that is computed may rewrite the table"
    return None


def fault_of_sql(operation: migrations.RunSQL, app: str, born: set[str]) -> str | None:
    """Allow SQL that makes functions, says how a table is stored, or fills tables of this very migration."""
    statements: Any = operation.sql if isinstance(operation.sql, list | tuple) else [operation.sql]
    for statement in statements:
        if MAKES_A_FUNCTION.match(statement) or STORES.match(statement):
            continue
        filled = FILLS.match(statement)
        if not (filled and filled[1].removeprefix(f"{app}_") in born):
            return f"it may lock or change many rows of a table that is in use: {' '.join(statement.split())[:60]}…"
    return None


def changes_the_table(operation: Operation, app: str, state: ProjectState, after: ProjectState) -> bool:
    """Tell whether a change of a field, such as its words, is one of the table."""
    with connection.schema_editor(collect_sql=True, atomic=False) as editor:
        operation.database_forwards(app, editor, state, after)
        return any(not line.startswith("--") for line in editor.collected_sql)
