"""`manage.py migrate`: Django's command, but without blocking the running product."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, ProgrammingError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import LockNotAvailable

from config.settings.startup_errors import first_line
from kilit.database.origin import NewerVersion, read_origin, record_version
from kilit.workers.management.checked_settings import SETTINGS

# A schema change that waits for a lock blocks every query behind it; so it gives up soon and tries again.
LOCK_TIMEOUT = "2s"
TRIES = 15
PAUSE = 2.0  # seconds for the blocked queries to run


class Command(migrate.Command):
    requires_system_checks = (SETTINGS, Tags.database)

    def handle(self, *args: object, **options: Any) -> None:
        connection = connections[options["database"]]
        try:
            read_origin(connection).verify()
        except NewerVersion as error:
            # The way back to the version before: it works with the newer tables.
            if missing_migrations(connection):
                raise
            self.stdout.write(f"There is nothing to migrate. {error}")
            return
        self.migrate(*args, **options)
        if not (options["app_label"] or options["plan"] or options["check_unapplied"]):
            try:
                record_version(connection)
            except ProgrammingError as error:
                raise CommandError(f"The version was not recorded: {first_line(error)}.") from error

    def migrate(self, *args: Any, **options: Any) -> None:
        for left in reversed(range(TRIES)):
            try:
                with short_locks(options["database"]):
                    super().handle(*args, **options)
            except ProgrammingError as error:
                raise CommandError(
                    f"A migration failed and was rolled back: {first_line(error)}. The tables are not those that the "
                    "earlier migrations made. (--traceback shows where.)"
                ) from error
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if not left:
                    raise CommandError(
                        "A long transaction holds a lock on a table, so the migration was rolled back; earlier ones "
                        "stay applied. Run migrate again when pg_stat_activity shows no old transactions."
                    ) from error
                self.stderr.write("A table is locked; the migration was rolled back. Retrying.")
                time.sleep(PAUSE)
            else:
                return


def missing_migrations(connection: BaseDatabaseWrapper) -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def short_locks(alias: str) -> Iterator[None]:
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        (before,) = cursor.fetchone()
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
    try:
        yield
    finally:
        # A broken connection has nothing to reset, and must not hide the error that broke it.
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])
