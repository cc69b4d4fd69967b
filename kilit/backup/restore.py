"""Restores a backup: checked before anything changes, with the old tables kept until the new ones are complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files.base import File
from django.core.management import call_command
from django.db import connection, transaction

from kilit.backup.dump import PG_OPTIONS, rows_by_table
from kilit.backup.files import file_source
from kilit.backup.manifest import DUMP, FILES, Manifest, keys_fingerprint
from kilit.backup.programs import BackupRefused, find_program, major_version
from kilit.database.sql import execute, read_row, read_rows
from kilit.lock.audit import acting_as

OLD_SCHEMA = "before_restore"
REASON = "Its file is not in the restored backup."


def restore(folder: Path, *, replace: bool = False) -> tuple[Manifest, list[str]]:
    """Restore database and files; return the manifest and notes for the operator."""
    manifest = verify(folder)
    pg_restore = find_program("pg_restore", dumped_by=major_version(manifest.client or manifest.server))
    refuse_other_connections()
    refuse_unfinished_restore()
    if not replace:
        refuse_existing_tables()
    # Files first: a row must never name a missing file. If the database fails, cleanup removes them as orphans.
    for key in manifest.artifacts():
        with (folder / FILES / key).open("rb") as file:
            file_source().save(key, File(file))
    with old_tables_kept(replace=replace):
        pg_restore.run("--exit-on-error", "--single-transaction", *PG_OPTIONS, folder / DUMP)
        refuse_different_rows(manifest)
    call_command("migrate", verbosity=0, interactive=False)  # for a backup of an older version
    return manifest, expire_and_note(manifest)


def verify(folder: Path) -> Manifest:
    """Read the whole backup, and refuse one that is damaged or that this version cannot use."""
    manifest = Manifest.of(folder)
    manifest.origin.verify("backup")
    manifest.verify(folder)
    return manifest


def refuse_other_connections() -> None:
    (others,) = read_row(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    if others:
        raise BackupRefused(f"{others} other connections use this database: stop web, workers and runners first.")


def refuse_unfinished_restore() -> None:
    """Keep the tables that a killed restore had moved away."""
    if read_rows("SELECT 1 FROM pg_namespace WHERE nspname = %s", [OLD_SCHEMA]):
        raise BackupRefused(
            f"An earlier restore was interrupted; the previous tables are in the schema {OLD_SCHEMA}. "
            f"To get them back: DROP SCHEMA public CASCADE; ALTER SCHEMA {OLD_SCHEMA} RENAME TO public. "
            f"To discard them: DROP SCHEMA {OLD_SCHEMA} CASCADE."
        )


def refuse_existing_tables() -> None:
    if tables := connection.introspection.table_names():
        raise BackupRefused(
            f"The database already has {len(tables)} tables. Restore into an empty database, or use --replace, "
            "which deletes the current data."
        )


def refuse_different_rows(manifest: Manifest) -> None:
    if (counts := rows_by_table()) != manifest.rows:
        differing = sorted(set(counts.items()) ^ set(manifest.rows.items()))
        raise BackupRefused(f"The row counts of restored tables differ from the backup: {differing[:5]}.")


@contextmanager
def old_tables_kept(*, replace: bool) -> Iterator[None]:
    if not replace:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ALTER SCHEMA public RENAME TO {OLD_SCHEMA}")
        cursor.execute("CREATE SCHEMA public")
    try:
        yield
    except BaseException:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute(f"ALTER SCHEMA {OLD_SCHEMA} RENAME TO public")
        raise
    execute(f"DROP SCHEMA {OLD_SCHEMA} CASCADE")


def expire_and_note(manifest: Manifest) -> list[str]:
    """Expire jobs without a file, so that the next request renders the document again; return all notes."""
    lines = []
    with acting_as("restore", reason=REASON):
        expired = file_source().expire_jobs(manifest.missing) if manifest.missing else 0
    if expired:
        lines.append(f"{expired} PDF jobs were expired because their files are not in the backup.")
    if not manifest.with_files:
        lines.append("The backup has no files: downloads of PDFs whose file is gone return 410.")
    if manifest.keys != keys_fingerprint():
        lines.append(
            "The backup was made with other keys: set the SECRET_KEY and KILIT_CREDENTIAL_KEYS of that installation, "
            "or stored Google credentials cannot be decrypted."
        )
    return lines
