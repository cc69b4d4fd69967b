"""Takes a backup while everything runs; the dump and the list of files come from the same snapshot."""

import shutil
import time
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from kilit.backup.files import StoredFile, file_source
from kilit.backup.manifest import DUMP, FILES, Manifest, digest_of, keys_fingerprint
from kilit.backup.programs import BackupRefused, Program, find_program
from kilit.database.origin import read_origin, refuse_unreleased
from kilit.database.sql import read_row
from kilit.files import TEMP_SUFFIX, sync_path

CHECKS = 5  # a second apart: the cleanup deletes a file a moment before it updates the row
# Weak compression, since pg_dump does nothing else meanwhile; and no waiting for a table that someone locks for long.
DUMP_OPTIONS = ("--format=custom", "--compress=1", "--lock-wait-timeout=60s")
PG_OPTIONS = ("--no-owner", "--no-privileges", "--schema=public")  # the target database decides about ownership


def take(folder: Path, *, with_files: bool = True) -> Manifest:
    """Make a backup in a new folder, which gets its name only when it is complete and on disk."""
    if not read_origin(connection).migrations:
        raise BackupRefused("the database is empty (see DATABASE_URL and KILIT_VAR)")
    refuse_unreleased(connection)
    pg_dump = find_program("pg_dump")
    draft = folder.with_name(f"{folder.name}{TEMP_SUFFIX}")
    draft.mkdir(mode=0o700, parents=True)  # personal data
    try:
        manifest, wanted = dump(draft, pg_dump, with_files=with_files)
        if with_files:
            copy_files(draft, manifest, wanted)
        manifest.write(draft)
        for path in [*draft.rglob("*"), draft]:
            sync_path(path)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return manifest


def dump(draft: Path, pg_dump: Program, *, with_files: bool) -> tuple[Manifest, list[StoredFile]]:
    """Dump the database. While a snapshot is open, PostgreSQL cleans no table: all else is done beside it or after."""
    made_at = timezone.now().isoformat()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot(), current_setting('server_version')")
        snapshot, server = cursor.fetchone()
        with pg_dump.running(*DUMP_OPTIONS, f"--snapshot={snapshot}", f"--file={draft / DUMP}", *PG_OPTIONS):
            origin = read_origin(connection)
            rows = rows_by_table()
            files = list(file_source().of_finished_jobs()) if with_files else []
    manifest = Manifest(
        format=1,
        version=origin.version,
        made_at=made_at,
        server=server,
        client=pg_dump.version,
        keys=keys_fingerprint(),
        migrations=sorted(".".join(key) for key in origin.migrations),
        rows=rows,
        with_files=with_files,
        missing=[],
        lost=[],
        sums={DUMP: digest_of(draft / DUMP) or ""},
    )
    return manifest, files


def rows_by_table() -> dict[str, int]:
    names = sorted(connection.introspection.table_names())
    return {name: read_row(f"SELECT count(*) FROM {connection.ops.quote_name(name)}")[0] for name in names}


def copy_files(draft: Path, manifest: Manifest, wanted: list[StoredFile]) -> None:
    """Copy the files of the snapshot's rows, and list those that are missing or differ from their row's digest."""
    for file in wanted:
        name = f"{FILES}/{file.key}"
        if copy_file(file, draft / name):
            manifest.sums[name] = file.digest
        else:
            manifest.missing.append(file.key)
    manifest.lost = still_referenced(manifest.missing)


def copy_file(file: StoredFile, target: Path) -> bool:
    try:
        source = file_source().open(file.key)
    except FileNotFoundError:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    if digest_of(target) == file.digest:
        return True
    target.unlink()
    return False


def still_referenced(keys: list[str]) -> list[str]:
    """Return the keys that rows still name; the other jobs expired during the backup."""
    for _ in range(CHECKS):
        keys = file_source().still_referenced(keys)
        if not keys:
            break
        time.sleep(1)
    return keys
