"""Takes a backup while everything runs: one snapshot for the dump and for the list of files."""

import os
import shutil
import time
from pathlib import Path

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from kilit.backup import files, programs
from kilit.backup.files import StoredFile
from kilit.backup.manifest import DUMP, FILES, Manifest, copied, mark_of_keys, sum_of

UNFINISHED = ".part"
LOOK_AGAIN = 5  # times, a second apart: a cleanup deletes a file a moment before its row says so


class NothingThere(Exception):  # noqa: N818 - a fact about the database, not a mistake of ours
    """The database has no tables of ours."""


def take(folder: Path, *, with_files: bool = True) -> Manifest:
    """Make a backup in a new folder; it has its name only when it is whole and on disk."""
    if not MigrationRecorder(connection).has_table():
        raise NothingThere("the database is empty (see DATABASE_URL and KILIT_VAR)")
    draft = folder.with_name(f"{folder.name}{UNFINISHED}")
    draft.mkdir(mode=0o700, parents=True)  # it holds everybody's data
    try:
        manifest, wanted = dump(draft)
        manifest.with_files = with_files
        if with_files:
            copy_files(draft, manifest, wanted)
        manifest.write(draft)
        force_to_disk(draft)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return manifest


def dump(draft: Path) -> tuple[Manifest, list[StoredFile]]:
    """Dump the database, and return with it what the same snapshot says about rows and files."""
    manifest = Manifest(made_at=timezone.now().isoformat(), keys=mark_of_keys())
    with transaction.atomic(), connection.cursor() as cursor:
        # The dump takes as long as it takes, and this transaction only holds its snapshot meanwhile.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot(), current_setting('server_version')")
        snapshot, manifest.server = cursor.fetchone()
        programs.run("pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={draft / DUMP}", *WITHOUT)
        manifest.sums[DUMP] = sum_of(draft / DUMP) or ""
        cursor.execute("SELECT app || '.' || name FROM django_migrations ORDER BY id")
        manifest.migrations = [name for (name,) in cursor.fetchall()]
        manifest.rows = rows_by_table()
        wanted = list(files.the_source().of_finished_jobs())
    return manifest, wanted


# Who owns what is for the database that it is restored into to say.
WITHOUT = ("--no-owner", "--no-privileges", "--schema=public")


def rows_by_table() -> dict[str, int]:
    """Count every table as this transaction sees it."""
    counted = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - from the catalogue
            counted[table] = cursor.fetchone()[0]
    return counted


def copy_files(draft: Path, manifest: Manifest, wanted: list[StoredFile]) -> None:
    """Copy what the rows of the snapshot speak of; a file that is not what its row says is named, and left out."""
    absent = []
    for file in wanted:
        name = f"{FILES}/{file.key}"
        if copy_file(file, draft / name):
            manifest.sums[name] = file.digest
        else:
            absent.append(file.key)
    manifest.missing = absent
    manifest.lost = still_wanted(absent)


def copy_file(file: StoredFile, target: Path) -> bool:
    """Copy a file, and tell whether it is what its row says."""
    try:
        source = files.the_source().open(file.key)
    except FileNotFoundError:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as copy:
        if copied(source, copy.write) == file.digest:
            return True
    target.unlink()
    return False


def still_wanted(keys: list[str]) -> list[str]:
    """Return the keys that rows go on speaking of; the others' jobs expired while the backup was being made."""
    for _ in range(LOOK_AGAIN):
        keys = files.the_source().still_referenced(keys)
        if not keys:
            break
        time.sleep(1)
    return keys


def force_to_disk(folder: Path) -> None:
    """Wait until the disk has it all: a backup that is lost with the power is none."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
