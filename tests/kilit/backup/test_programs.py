"""Which pg_dump and pg_restore a server gets; tests/processes/kilit/backup/test_versions.py runs them."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from kilit.backup import dump, programs
from kilit.backup.programs import BackupRefused, Program, conninfo, find_program, major_version
from kilit.postgres.binaries import bundled_programs

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine(monkeypatch):
    """Pretend a server of a version, and clients of others."""

    def pretend(*, server: int, clients: list[int]) -> None:
        found = [Program(Path(f"/{version}/bin"), f"{version}.1") for version in clients]
        monkeypatch.setattr(programs, "installed_programs", lambda _name, **_: found)
        monkeypatch.setitem(vars(connections["default"]), "pg_version", server * 10000 + 4)

    return pretend


@pytest.mark.parametrize(
    ("server", "clients", "dumped_by", "expected"),
    [
        (15, [18, 16, 15], 0, 15),
        (15, [18, 16], 0, 16),
        (17, [18, 16], 0, 18),
        (17, [18, 17], 0, 17),
        (18, [18, 16], 0, 18),
        (18, [18, 16], 15, 18),
        (15, [18, 16, 15], 16, 16),  # pg_restore 15 cannot read what pg_dump 16 wrote
        (17, [18, 17], 18, 18),
    ],
)
def test_the_nearest_version_that_can_read_and_write(machine, server, clients, dumped_by, expected) -> None:
    machine(server=server, clients=clients)

    assert find_program("pg_restore", dumped_by=dumped_by).major == expected


@pytest.mark.parametrize(
    ("server", "clients", "dumped_by", "sentence"),
    [
        (15, [18], 0, "No pg_dump was found that suits PostgreSQL 15: install the client programs of PostgreSQL 15."),
        (19, [18, 16], 0, "suits PostgreSQL 19: install the client programs of PostgreSQL 19."),
        (16, [18, 16], 18, "made by pg_dump 18 and cannot be restored into PostgreSQL 16: use a server of version 17"),
        (18, [16], 18, "install the client programs of PostgreSQL 18."),
    ],
)
def test_without_one_the_message_says_what_to_install(machine, server, clients, dumped_by, sentence) -> None:
    machine(server=server, clients=clients)

    with pytest.raises(BackupRefused) as refusal:
        find_program("pg_dump", dumped_by=dumped_by)

    assert sentence in str(refusal.value)


def test_a_backup_that_could_not_be_restored_is_not_taken(machine, tmp_path: Path, monkeypatch) -> None:
    machine(server=15, clients=[18])
    monkeypatch.setattr(dump, "dump", lambda *_, **__: pytest.fail("it was taken"))

    with pytest.raises(CommandError, match="No backup was made: No pg_dump was found that suits PostgreSQL 15"):
        call_command("backup", tmp_path / "backup")

    assert list(tmp_path.iterdir()) == []


def test_bundled_programs_are_not_used_for_an_encrypted_connection() -> None:
    """They are built without TLS: they would fail, or send everything in clear."""
    bundled = {folder / "pg_dump" for folder in bundled_programs()}

    assert bundled <= {program.path for program in programs.installed_programs("pg_dump", with_tls=False)}
    assert not bundled & {program.path for program in programs.installed_programs("pg_dump", with_tls=True)}


def test_programs_get_the_options_of_the_settings_and_no_defaults_of_our_libpq(monkeypatch) -> None:
    given = {**connection.get_connection_params(), "tcp_user_timeout": 9000, "password": "s3cret"}
    monkeypatch.setattr(connections["default"], "get_connection_params", lambda: given)

    found = conninfo()

    assert "tcp_user_timeout=9000" in found
    assert f"dbname={given['dbname']}" in found
    assert not any(word in found for word in ("s3cret", "sslcertmode", "cursor_factory"))


@pytest.mark.parametrize(("version", "major"), [("15.14 (Debian 15.14-0+deb12u1)", 15), ("19beta1", 19), ("", 0)])
def test_versions_are_compared_by_their_first_number(version: str, major: int) -> None:
    assert major_version(version) == major
