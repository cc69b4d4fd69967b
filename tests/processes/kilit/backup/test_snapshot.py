"""A backup holds PostgreSQL's cleaning back while pg_dump reads, and no longer."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from kilit.backup import dump
from kilit.backup.files import StoredFile
from kilit.backup.programs import Program, ProgramFailed, conninfo

pytestmark = pytest.mark.django_db(transaction=True)

# In place of pg_dump: it ends when the rows have been counted, and fails if they never are.
PG_DUMP = """#!/bin/sh
for _ in $(seq 1800); do
    test -e {marker} && exit 0
    sleep 0.1
done
echo "error: nothing was done beside the dump" >&2
exit 1
"""


class Files:
    """A store that notes whether a snapshot is open while its files are copied."""

    def __init__(self) -> None:
        self.snapshots: list[int] = []

    def of_finished_jobs(self) -> Iterator[StoredFile]:
        yield StoredFile("a.pdf", "digest")

    def open(self, key: str) -> None:
        self.snapshots.append(open_snapshots())
        raise FileNotFoundError(key)

    def still_referenced(self, keys: list[str]) -> list[str]:
        return []


def open_snapshots() -> int:
    with psycopg.connect(conninfo(), password=connection.connection.info.password, autocommit=True) as observer:
        statement = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL AND backend_type = 'client backend'"
        )
        return int(observer.execute(statement).fetchone()[0])


def test_no_snapshot_is_open_while_the_dump_is_read_again_and_files_are_copied(monkeypatch, tmp_path: Path) -> None:
    files = Files()
    digested: list[int] = []
    own_digest = dump.digest_of
    monkeypatch.setattr(dump, "file_source", lambda: files)
    monkeypatch.setattr(dump, "digest_of", lambda path: digested.append(open_snapshots()) or own_digest(path))

    manifest = dump.take(tmp_path / "backup")

    assert (digested, files.snapshots) == ([0], [0])
    assert manifest.missing == ["a.pdf"]


def test_rows_are_counted_while_pg_dump_runs(monkeypatch, tmp_path: Path) -> None:
    marker, program = tmp_path / "counted", tmp_path / "pg_dump"
    program.write_text(PG_DUMP.format(marker=marker))
    program.chmod(0o755)
    own_count = dump.rows_by_table
    monkeypatch.setattr(dump, "rows_by_table", lambda: marker.touch() or own_count())

    manifest, _ = dump.dump(tmp_path, Program(program, "18.0"), with_files=False)

    assert "auth_user" in manifest.rows


def test_a_dump_that_fails_ends_the_snapshot_with_its_message(tmp_path: Path) -> None:
    program = tmp_path / "pg_dump"
    program.write_text('#!/bin/sh\necho "pg_dump: error: no space left" >&2\nexit 1\n')
    program.chmod(0o755)

    with pytest.raises(ProgramFailed, match=r"^pg_dump: error: no space left$"):
        dump.dump(tmp_path, Program(program, "18.0"), with_files=False)

    assert not connection.in_atomic_block
