"""Migrations run beside the code of the version before: no rewrite, no long lock, nothing taken away."""

from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.postgres import operations as postgres
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from tests.support.commands import ROOT
from tests.support.migration_rules import faults
from tests.support.packages import PRODUCT

APPS = {config.name for config in apps.get_app_configs() if config.name.split(".")[0] in PRODUCT}
# Why each of these may be what the rules forbid. A migration of a version that installations run is added here only
# with a reason that holds for the largest of them.
ALLOWED: dict[str, str] = {
    "ociqueue.0002_attempts_and_imports": "a requester may be null from now on, which changes the catalogue only",
    "ociqueue.0004_imports_of_several_sites": "an import's site may be null, which changes the catalogue only",
    "orchestrator.0016_codes_of_offcuts": "the store comes with the same version: installations have no rows of it",
}

pytestmark = pytest.mark.django_db(transaction=True)


def later_migrations(*names: str) -> list[Path]:
    """Return every migration but the first of each app."""
    folders = [ROOT / name.replace(".", "/") / "migrations" for name in names]
    return sorted(path for folder in folders for path in folder.glob("0*.py") if not path.name.startswith("0001_"))


def judged(app: str, name: str) -> list[str]:
    loader = MigrationLoader(connection, replace_migrations=False)
    before = loader.project_state((app, name), at_end=False)
    return list(faults(loader.get_migration(app, name), before))


def test_every_later_migration_is_safe_beside_running_code() -> None:
    for path in later_migrations(*APPS):
        name = f"{path.parts[-3]}.{path.stem}"
        found = judged(path.parts[-3], path.stem)

        assert bool(found) == (name in ALLOWED), f"{name}: {found}"


def test_later_migrations_are_found() -> None:
    assert [path.stem for path in later_migrations("tests.apps.shelves")] == ["0002_shelf_label"]


def index(**options: object) -> models.Index:
    return models.Index(fields=["template_name"], name="made_up", **options)


check = models.CheckConstraint(condition=models.Q(retry_count__gte=0), name="made_up")
UNSAFE = {
    "a column that old code does not fill": migrations.AddField("pdfjob", "made_up", models.TextField(default="")),
    "a column with an index": migrations.AddField("pdfjob", "made_up", models.TextField(null=True, db_index=True)),
    "a unique column": migrations.AddField("pdfjob", "made_up", models.TextField(null=True, unique=True)),
    "a computed default": migrations.AddField("pdfjob", "made_up", models.DateTimeField(db_default=Now())),
    "an index": migrations.AddIndex("pdfjob", index()),
    "a constraint": migrations.AddConstraint("pdfjob", check),
    "another type": migrations.AlterField("pdfjob", "job_key", models.CharField(max_length=10)),
    "a column that goes": migrations.RemoveField("pdfjob", "error_detail"),
    "a column that is called otherwise": migrations.RenameField("pdfjob", "error_detail", "words"),
    "a table that goes": migrations.DeleteModel("RenderTiming"),
    "an update": migrations.RunSQL("UPDATE pdfjobs_pdfjob SET retry_count = 0"),
    "SQL that locks": migrations.RunSQL(["CREATE INDEX made_up ON pdfjobs_pdfjob (template_name)"]),
    "a table that is moved": migrations.RunSQL("ALTER TABLE pdfjobs_pdfjob SET TABLESPACE pg_default"),
    "settings, and something else": migrations.RunSQL("ALTER TABLE pdfjobs_pdfjob SET (fillfactor = 50), SET LOGGED"),
    "a program": migrations.RunPython(migrations.RunPython.noop),
    "SQL in a wrapper": migrations.SeparateDatabaseAndState([migrations.RunSQL("LOCK pdfjobs_pdfjob")]),
}
SAFE = {
    "a column that may be empty": migrations.AddField("pdfjob", "made_up", models.TextField(null=True)),
    "a column with a constant": migrations.AddField("pdfjob", "made_up", models.TextField(db_default="")),
    "an index beside writers": postgres.AddIndexConcurrently("pdfjob", index()),
    "a constraint for new rows": postgres.AddConstraintNotValid("pdfjob", check),
    "how a table is stored": migrations.RunSQL("ALTER TABLE pdfjobs_pdfjob SET (fillfactor = 50)"),
    "other words": migrations.AlterField("pdfjob", "job_key", models.CharField(max_length=64, help_text="Else.")),
    "a function": migrations.RunSQL("CREATE OR REPLACE FUNCTION made_up() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
}


def made_up(operation: migrations.RunSQL) -> list[str]:
    loader = MigrationLoader(connection, replace_migrations=False)
    migration = migrations.Migration("made_up", "pdfjobs")
    migration.operations = [operation]
    return list(faults(migration, loader.project_state()))


@pytest.mark.parametrize("what", UNSAFE)
def test_the_rules_find(what: str) -> None:
    assert made_up(UNSAFE[what]) != []


@pytest.mark.parametrize("what", SAFE)
def test_the_rules_let_pass(what: str) -> None:
    assert made_up(SAFE[what]) == []


def test_what_is_built_beside_writers_is_not_in_a_transaction() -> None:
    for path in later_migrations(*APPS):
        migration = MigrationLoader(connection).get_migration(path.parts[-3], path.stem)
        beside = any(isinstance(each, postgres.AddIndexConcurrently) for each in migration.operations)
        assert not (beside and migration.atomic), path
