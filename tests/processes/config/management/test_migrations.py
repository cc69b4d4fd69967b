"""`manage.py migrate` waits briefly for a lock, lets others go first, and tries again."""

import sys
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.installation import Installation, installation
from tests.support.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def migrated() -> Iterator[Installation]:
    with installation(settings="tests.apps.shelves.settings") as kilit:
        kilit.must("migrate", "--verbosity", "0")
        yield kilit


@pytest.fixture
def half_migrated(migrated: Installation) -> Installation:
    """An installation of an earlier version: the second migration of shelves is not applied."""
    migrated.ask("ALTER TABLE shelves_shelf DROP COLUMN IF EXISTS label")
    migrated.ask("DELETE FROM django_migrations WHERE app = 'shelves' AND name > '0002'")
    return migrated


@pytest.mark.nightly  # it makes an installation and migrates it
def test_a_migration_that_waits_for_a_lock_does_not_make_the_others_wait(half_migrated: Installation) -> None:
    kilit = half_migrated
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE%%'"
    with kilit.connect() as reader, kilit.connect() as writer:
        reader.autocommit = False
        reader.execute("SELECT count(*) FROM shelves_shelf")  # and the transaction stays open
        migrating = kilit.start(sys.executable, "manage.py", "migrate", "shelves")
        wait_until(lambda: kilit.ask(waiting) == [(1,)])
        # Behind an ALTER TABLE that kept waiting, no one could read: this statement would time out.
        writer.execute(f"SET statement_timeout = '{PATIENCE}s'")
        writer.execute("SELECT count(*) FROM shelves_shelf")
        assert migrating.poll() is None
        reader.rollback()

    assert migrating.wait(timeout=PATIENCE) == 0
    assert "Retrying." in kilit.log.read_text()
    assert has_label(kilit)


@pytest.mark.nightly  # it makes an installation and migrates it
def test_a_lock_that_is_never_released_ends_in_an_error_message(half_migrated: Installation) -> None:
    once = (
        "import config.management.commands.migrate as m; m.TRIES = 1; from django.core.management import call_command"
    )
    with kilit_reader(half_migrated):
        ended = half_migrated.manage("shell", "-c", f"{once}; call_command('migrate', 'shelves')")

    assert ended.returncode != 0
    assert "A long transaction holds a lock on a table" in ended.stderr
    assert not has_label(half_migrated)


def has_label(kilit: Installation) -> bool:
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'shelves_shelf'"
    return ("label",) in kilit.ask(columns)


def kilit_reader(kilit: Installation) -> psycopg.Connection:
    """Hold a lock of a reader on the table for as long as the block runs."""
    reader = kilit.connect()
    reader.autocommit = False
    reader.execute("SELECT count(*) FROM shelves_shelf")
    return reader
