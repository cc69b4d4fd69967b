"""Which tables this version can use: its own, those it can migrate, and those of a newer version while it runs."""

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from config.management.commands import migrate
from kilit import __version__
from kilit.api import probes
from kilit.backup.manifest import Manifest
from kilit.database.origin import NewerVersion, SchemaOrigin, UnreleasedVersion, read_origin, record_version

OWN = frozenset(MigrationLoader(None).disk_migrations)
OLD = ("ociqueue", "0002_uploads")  # its name before the migrations were merged
WAY = (
    f"and this is Kilit {__version__}, which cannot upgrade it: start with an empty database (another DATABASE_URL or "
    'KILIT_VAR), or export and import what you need, as docs/deployment.md says under "From an unreleased version".'
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("version", ["", __version__])
@pytest.mark.parametrize(
    "migrations",
    [
        pytest.param(frozenset(), id="empty"),
        pytest.param(OWN, id="complete"),
        pytest.param(OWN - {max(key for key in OWN if key[0] == "outbox")}, id="of the version before"),
        pytest.param(OWN | {("removed", "0001_initial")}, id="with an app that was removed"),
    ],
)
def test_tables_that_migrate_can_complete_are_used(version: str, migrations: frozenset[tuple[str, str]]) -> None:
    SchemaOrigin(version, migrations).verify()


@pytest.mark.parametrize(
    ("version", "maker"),
    [("", "a Kilit that recorded no version"), ("0.1.0", "Kilit 0.1.0"), (__version__, f"Kilit {__version__}")],
)
def test_migrations_that_no_longer_exist_are_of_an_unreleased_version(version: str, maker: str) -> None:
    with pytest.raises(UnreleasedVersion) as refusal:
        SchemaOrigin(version, OWN | {OLD}).verify()

    assert str(refusal.value) == (
        f"This database was made by {maker} (unreleased, with the migration ociqueue.0002_uploads), {WAY}"
    )


def test_tables_of_0_1_0_are_refused_although_their_migrations_have_the_names_of_todays() -> None:
    with pytest.raises(UnreleasedVersion) as refusal:
        SchemaOrigin("0.1.0", OWN).verify()

    assert str(refusal.value) == f"This database was made by Kilit 0.1.0 (unreleased), {WAY}"


def test_a_migration_without_its_parents_is_of_an_unreleased_version() -> None:
    parent = ("lock", "0001_initial")

    with pytest.raises(UnreleasedVersion, match=r"with the migration \w+\.\d{4}_\w+"):
        SchemaOrigin(__version__, OWN - {parent}).verify()


def test_merged_migrations_are_known_by_the_names_they_replace(monkeypatch) -> None:
    loader = MigrationLoader(None)
    merged = loader.disk_migrations["outbox", "0001_initial"]
    monkeypatch.setattr(merged.__class__, "replaces", [("outbox", "0001_first"), ("outbox", "0002_second")])
    before = OWN - {("outbox", "0001_initial")} | {("outbox", "0001_first"), ("outbox", "0002_second")}

    SchemaOrigin(__version__, before).verify()


def test_migrations_of_a_newer_version_are_called_so() -> None:
    with pytest.raises(NewerVersion) as refusal:
        SchemaOrigin("9.10.0", OWN | {("ociqueue", "9999_later")}).verify("backup")

    assert str(refusal.value) == (
        f"This backup is from a newer version, Kilit 9.10.0, and this is Kilit {__version__}: install Kilit 9.10.0."
    )


def test_migrate_records_its_version_and_keeps_a_newer_one() -> None:
    call_command("migrate", verbosity=0)
    own = read_origin(connection).version
    note("Kilit 9.10.0")
    record_version(connection)

    assert own == __version__
    assert read_origin(connection).version == "9.10.0"


def test_a_version_that_cannot_be_recorded_is_said_in_one_sentence(monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise ProgrammingError("must be owner of table django_migrations")

    monkeypatch.setattr(migrate, "record_version", refuse)

    with pytest.raises(CommandError, match=r"^The version was not recorded: must be owner of table django_migrations"):
        call_command("migrate", verbosity=0)


@pytest.mark.parametrize("comment", [None, "Kilit 0.1.0", "of a database administrator"])
def test_migrate_refuses_tables_of_an_unreleased_version(comment: str | None) -> None:
    note(comment)
    apply(*OLD)

    with pytest.raises(UnreleasedVersion, match="cannot upgrade it: start with an empty database"):
        call_command("migrate", verbosity=0)

    assert read_origin(connection).version == ("0.1.0" if comment == "Kilit 0.1.0" else "")


def test_migrate_has_nothing_to_do_for_tables_of_a_newer_version(capsys) -> None:
    note("Kilit 9.10.0")
    apply("ociqueue", "9999_later")

    call_command("migrate", verbosity=0)

    assert "There is nothing to migrate. This database is from a newer version, Kilit 9.10.0" in capsys.readouterr().out


def test_migrate_refuses_a_newer_version_without_its_own_migrations() -> None:
    note("Kilit 9.10.0")
    apply("ociqueue", "9999_later")
    newest = max(name for app, name in OWN if app == "outbox")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'outbox' AND name = %s", [newest])

    with pytest.raises(NewerVersion):
        call_command("migrate", verbosity=0)


def test_migrate_says_which_table_is_not_as_its_migrations_left_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'outbox'")

    with pytest.raises(CommandError, match='A migration failed and was rolled back: relation "outbox_'):
        call_command("migrate", verbosity=0)


def test_ready_names_tables_of_an_unreleased_version(monkeypatch) -> None:
    monkeypatch.setattr(probes, "_known_migrated", False)
    apply(*OLD)

    answer = Client().get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["checks"]["migrations"].endswith(WAY)


def test_ready_accepts_tables_of_a_newer_version(monkeypatch) -> None:
    monkeypatch.setattr(probes, "_known_migrated", False)
    note("Kilit 9.10.0")
    apply("ociqueue", "9999_later")

    assert Client().get("/readyz").json()["checks"]["migrations"] == "ok"


def test_a_manifest_without_a_version_is_of_an_unreleased_one() -> None:
    manifest = Manifest.model_construct(version="", migrations=["ociqueue.0001_initial", ".".join(OLD)])

    with pytest.raises(UnreleasedVersion, match="This backup was made by a Kilit that recorded no version"):
        manifest.origin.verify("backup")


def note(comment: str | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"COMMENT ON TABLE django_migrations IS {'NULL' if comment is None else repr(comment)}")


def apply(app: str, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", [app, name])
