"""`manage.py migrate`: Django's own, which does not make the running product wait behind it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections
from psycopg.errors import LockNotAvailable

# A change that waits for a lock makes everybody after it wait too; so it gives up soon, and tries again.
LOCK_TIMEOUT = "2s"
TRIES = 15
PAUSE = 2.0  # seconds in which those who waited have their turn


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, and go on from where a lock was not to be had."""
        for left in reversed(range(TRIES)):
            try:
                with short_locks(options["database"]):
                    super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if not left:
                    raise CommandError(
                        "A table is locked by a long transaction, so the migration was given up and rolled back. "
                        "What came before it stays; run it again when pg_stat_activity shows nothing old."
                    ) from error
                self.stderr.write("A table is locked; the migration was rolled back and is tried again.")
                time.sleep(PAUSE)
            else:
                return


@contextmanager
def short_locks(alias: str) -> Iterator[None]:
    """Let no statement of this connection wait long for a lock."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        (before,) = cursor.fetchone()
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
    try:
        yield
    finally:
        # A connection that broke has nothing to put back, and what broke it is to be told.
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])
