"""Puts a backup back: checked before anything is touched, and what was there is kept until all is well."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files.base import File
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader

from kilit.backup import files, programs
from kilit.backup.manifest import DUMP, FILES, Manifest, mark_of_keys
from kilit.backup.taking import rows_by_table
from kilit.lock.audit import acting_as

ASIDE = "before_restore"
REASON = "Its file was not in the backup that was restored."


class Refused(Exception):  # noqa: N818 - an answer, not a mistake of ours
    """The restore would harm something, so nothing was done."""


def restore(folder: Path, *, replace: bool = False) -> tuple[Manifest, list[str]]:
    """Restore database and files; return the manifest and what an operator has to be told."""
    manifest = look_through(folder)
    refuse_company()
    refuse_cut_short()
    if not replace:
        refuse_tables()
    # Files first: a row must never speak of a file that is not there. Without their rows they are orphans, which the
    # cleanup removes.
    store_files(folder, manifest)
    with set_aside(replace=replace):
        programs.run("pg_restore", "--exit-on-error", "--single-transaction", *AS_US, folder / DUMP)
        refuse_difference(manifest)
    call_command("migrate", verbosity=0, interactive=False)  # an older backup becomes what this code expects
    return manifest, told(manifest, expire_without_file(manifest))


# The schema is there already, and belongs to whoever owns this database.
AS_US = ("--no-owner", "--no-privileges", "--schema=public")


def look_through(folder: Path) -> Manifest:
    """Read all of a backup, and refuse one that is damaged or newer than this code."""
    manifest = Manifest.read(folder)
    refuse_newer(manifest)
    manifest.verify(folder)
    return manifest


def refuse_newer(manifest: Manifest) -> None:
    """Refuse what this code does not know; older backups are migrated afterwards."""
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    if unknown := [name for name in manifest.migrations if name not in known]:
        raise Refused(f"The backup was made by a newer Kilit: it has {', '.join(unknown[:3])}. Install that first.")


def refuse_company() -> None:
    """Refuse while others use the database: they would work on what is being replaced."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        (others,) = cursor.fetchone()
    if others:
        raise Refused(f"{others} other connections use this database: stop web, workers and runners first.")


def refuse_cut_short() -> None:
    """Refuse to bury what a restore that was killed had set aside."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [ASIDE])
        if cursor.fetchone()[0]:
            raise Refused(
                f"An earlier restore was cut short; what it found is in the schema {ASIDE}. To have it back: "
                f"DROP SCHEMA public CASCADE; ALTER SCHEMA {ASIDE} RENAME TO public. "
                f"To let it go: DROP SCHEMA {ASIDE} CASCADE."
            )


def refuse_tables() -> None:
    """Refuse a database that is not empty."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    if tables:
        raise Refused(
            f"The database has {len(tables)} tables already. Restore into an empty one, or say --replace: "
            "what is there now is then lost."
        )


def refuse_difference(manifest: Manifest) -> None:
    """Compare every table's rows with what the backup counted."""
    if (found := rows_by_table()) != manifest.rows:
        differing = sorted(set(found.items()) ^ set(manifest.rows.items()))
        raise Refused(f"The restored tables do not have the rows they had: {differing[:5]}.")


def store_files(folder: Path, manifest: Manifest) -> None:
    """Store every file under its key; the same file twice is one file."""
    for key in manifest.artifacts():
        with (folder / FILES / key).open("rb") as file:
            files.the_source().save(key, File(file))


@contextmanager
def set_aside(*, replace: bool) -> Iterator[None]:
    """Keep the tables that are there under another name until the new ones are in, and bring them back if they fail."""
    if not replace:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ALTER SCHEMA public RENAME TO {ASIDE}")
        cursor.execute("CREATE SCHEMA public")
    try:
        yield
    except BaseException:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute(f"ALTER SCHEMA {ASIDE} RENAME TO public")
        raise
    with connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA {ASIDE} CASCADE")


def expire_without_file(manifest: Manifest) -> int:
    """End the jobs whose file the backup does not have: who asks again gets it made anew."""
    if not manifest.missing:
        return 0
    with acting_as("restore", reason=REASON):
        return files.the_source().expire_jobs(manifest.missing)


def told(manifest: Manifest, expired: int) -> list[str]:
    """Return what an operator must know of this restore."""
    words = []
    if expired:
        words.append(f"{expired} PDF jobs were expired: their files were not in the backup.")
    if not manifest.with_files:
        words.append("The backup has no files: PDF jobs whose file is gone are answered 410.")
    if manifest.keys != mark_of_keys():
        words.append(
            "The backup was made with other keys: set the SECRET_KEY and KILIT_CREDENTIAL_KEYS of that installation, "
            "or stored Google logins cannot be opened."
        )
    return words
