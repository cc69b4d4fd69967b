"""`manage.py migrate`: Django's command, but without blocking the running product."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections
from psycopg.errors import LockNotAvailable

from kilit.workers.management.checked_settings import SETTINGS

# A schema change that waits for a lock blocks every query behind it; so it gives up soon and tries again.
LOCK_TIMEOUT = "2s"
TRIES = 15
PAUSE = 2.0  # seconds for the blocked queries to run


class Command(migrate.Command):
    requires_system_checks = (SETTINGS, Tags.database)

    def handle(self, *args: Any, **options: Any) -> None:
        for left in reversed(range(TRIES)):
            try:
                with short_locks(options["database"]):
                    super().handle(*args, **options)
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
