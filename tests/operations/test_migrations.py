"""Migrations run beside the code of the version before: no rewrite, no long lock, nothing taken away."""

import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.contrib.postgres import operations as postgres
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from tests.support.commands import ROOT
from tests.support.installation import Installation, installation
from tests.support.migration_rules import faults
from tests.support.waiting import PATIENCE, wait_until

APPS = {"kilit.lock", "kilit.workers", "kilit.access", "kilit.bulk", "ociqueue", "pdfjobs", "orchestrator"}
# Why each of these may be what the rules forbid. A migration of a version that installations run is added here only
# with a reason that holds for the largest of them.
ALLOWED: dict[str, str] = {}
LATER = sorted(
    path
    for app in APPS
    for path in (ROOT / app.replace(".", "/") / "migrations").glob("0*.py")
    if not path.name.startswith("0001_")
)

pytestmark = pytest.mark.django_db(transaction=True)


def judged(app: str, name: str) -> list[str]:
    loader = MigrationLoader(connection, replace_migrations=False)
    before = loader.project_state((app, name), at_end=False)
    return list(faults(loader.get_migration(app, name), before))


@pytest.mark.parametrize("path", LATER, ids=lambda path: f"{path.parts[-3]}.{path.stem}")
def test_a_migration_is_safe_beside_running_code(path: Path) -> None:
    found = judged(path.parts[-3], path.stem)

    if f"{path.parts[-3]}.{path.stem}" in ALLOWED:
        assert found, "it is safe: take it off the list"
    else:
        assert found == []


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
    for path in LATER:
        migration = MigrationLoader(connection).get_migration(path.parts[-3], path.stem)
        beside = any(isinstance(each, postgres.AddIndexConcurrently) for each in migration.operations)
        assert not (beside and migration.atomic), path


@pytest.fixture(scope="module")
def migrated() -> Iterator[Installation]:
    with installation() as kilit:
        kilit.must("migrate", "--verbosity", "0")
        yield kilit


@pytest.fixture
def half_migrated(migrated: Installation) -> Installation:
    """An installation of an earlier version: one migration is missing."""
    migrated.ask("ALTER TABLE pdfjobs_pdfjob DROP COLUMN IF EXISTS error_group CASCADE")  # with its index
    migrated.ask("DROP INDEX IF EXISTS pdf_of_code, pdf_of_owner")
    migrated.ask("DELETE FROM lock_errorgroup WHERE queue = 'pdf'")
    migrated.ask("DELETE FROM django_migrations WHERE app = 'pdfjobs' AND name > '0002'")
    return migrated


def test_a_migration_that_waits_for_a_lock_does_not_make_the_others_wait(half_migrated: Installation) -> None:
    kilit = half_migrated
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE%%'"
    with kilit.connect() as reader, kilit.connect() as writer:
        reader.autocommit = False
        reader.execute("SELECT count(*) FROM pdfjobs_pdfjob")  # and the transaction stays open
        migrating = kilit.start(sys.executable, "manage.py", "migrate", "pdfjobs")
        wait_until(lambda: kilit.ask(waiting) == [(1,)])
        # Behind a change that waited for ever nobody could read either: this would fail after its time.
        writer.execute(f"SET statement_timeout = '{PATIENCE}s'")
        writer.execute("SELECT count(*) FROM pdfjobs_pdfjob")
        assert migrating.poll() is None
        reader.rollback()

    assert migrating.wait(timeout=PATIENCE) == 0
    assert "is tried again" in kilit.log.read_text()
    assert "error_group" in str(kilit.ask("SELECT column_name FROM information_schema.columns"))


def test_a_lock_that_is_never_given_back_ends_in_a_sentence(half_migrated: Installation) -> None:
    once = (
        "import config.management.commands.migrate as m; m.TRIES = 1; from django.core.management import call_command"
    )
    with kilit_reader(half_migrated):
        ended = half_migrated.manage("shell", "-c", f"{once}; call_command('migrate', 'pdfjobs')")

    assert ended.returncode != 0
    assert "A table is locked by a long transaction" in ended.stderr
    assert half_migrated.ask(
        "SELECT count(*) FROM information_schema.columns WHERE column_name = 'error_group'"
        " AND table_name = 'pdfjobs_pdfjob'"
    ) == [(0,)]


def kilit_reader(kilit: Installation) -> psycopg.Connection:
    """Hold a lock of a reader on the table for as long as the block runs."""
    reader = kilit.connect()
    reader.autocommit = False
    reader.execute("SELECT count(*) FROM pdfjobs_pdfjob")
    return reader
