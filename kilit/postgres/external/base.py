"""Django's PostgreSQL backend with limits, which also says what an error means: read-only, or an unknown commit."""

import time
from collections.abc import Callable
from functools import cached_property, partial
from types import SimpleNamespace, TracebackType
from typing import Any

import psycopg
from django.db import DatabaseError, InternalError, OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from psycopg import errors

from kilit.database import limits
from kilit.database.outage import database_outage, read_only_outage, standby_outage
from kilit.lock.outages import CommitsWaitError, CommitUnknown, ReadOnlyDatabase, note_commit, note_rollback, note_write
from kilit.postgres.external.connection import LimitedConnection, commits_waiting

# Classes of SQLSTATE: the connection broke, the server stops or starts, completion unknown. Any other is the server's
# answer that it rolled back.
LOST = ("08", "57P", "40003")
# libpq's words when none of the hosts of a URL with target_session_attrs=read-write accepts writes.
NO_PRIMARY = ("session is read-only", "server is in hot standby mode")
# What only reads, when it is the first word of a statement; UNION begins with brackets. Locks and `nextval` need no
# outcome.
READS = ("SELECT", "SHOW", "EXPLAIN", "SET", "LISTEN", "UNLISTEN", "DECLARE", "FETCH", "CLOSE")


class ErrorWrapper(DatabaseErrorWrapper):
    wrapper: "DatabaseWrapper"

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, errors.ReadOnlySqlTransaction) or (
            isinstance(exc, psycopg.OperationalError) and any(words in str(exc) for words in NO_PRIMARY)
        ):
            # The next connection may find the new primary; this one never does.
            self.wrapper.close()
            read_only_outage.begin(exc)
            raise ReadOnlyDatabase(*exc.args).with_traceback(traceback) from exc
        super().__exit__(exc_type, exc, traceback)


# A connection attempt that took longer is not repeated at once by others.
SLOW = 1.0  # seconds


class DatabaseWrapper(base.DatabaseWrapper):
    Database = SimpleNamespace(**{**vars(psycopg), "connect": LimitedConnection.connect})  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(_note_outcome)

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        return ErrorWrapper(self)

    def get_new_connection(self, conn_params: dict[str, object]) -> object:
        if limits.remaining() is None:
            connection = super().get_new_connection(conn_params)
        else:
            connection = self._connect_unless_known_to_be_down(conn_params)
        connection.idle_seconds = self.settings_dict.get("IDLE_IN_TRANSACTION_SECONDS", connection.idle_seconds)
        return connection

    def _connect_unless_known_to_be_down(self, conn_params: dict[str, object]) -> object:
        database_outage.refuse_in_pause()
        start = time.monotonic()
        try:
            with limits.waiting():
                connection = super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            spent = time.monotonic() - start
            limits.spend(spent)
            database_outage.begin(error, pause=spent > SLOW)
            raise
        database_outage.end()
        return connection

    def is_usable(self) -> bool:
        """Answer soon: this is asked at the beginning of each request, about a connection of an earlier one."""
        if limits.remaining() is None or self.connection is None:
            return super().is_usable()
        if database_outage.is_pausing:
            return False
        with self.connection.checking():
            return super().is_usable()

    def chunked_cursor(self) -> Any:
        """Read large results in parts, by a cursor on the server; outside a transaction a pooler would lose it."""
        if self.in_atomic_block or not self.is_pooled():
            return super().chunked_cursor()
        return self.cursor()

    def create_cursor(self, name: str | None = None) -> object:
        cursor = super().create_cursor(name)
        if name:
            cursor.close = partial(self._close_server_cursor, cursor.close)
        return cursor

    def _close_server_cursor(self, close: Callable[[], None]) -> None:
        """Wrap the errors of this statement, too, which Django does not; a view would answer them with 500."""
        with self.wrap_database_errors:
            try:
                close()
            except psycopg.Error:
                close()  # now without a statement: the connection is lost
                raise

    def is_pooled(self) -> bool:
        """Return whether a pooler is in between: it makes up a process number for its clients."""
        self.ensure_connection()
        with self.wrap_database_errors, psycopg.Cursor(self.connection) as cursor:
            row = cursor.execute("SELECT pg_backend_pid()").fetchone()
        return row != (self.connection.info.backend_pid,)

    def set_autocommit(
        self,
        autocommit: bool,
        force_begin_transaction_with_broken_autocommit: bool = False,
    ) -> None:
        if autocommit and self.connection is None:
            # Django calls this after a commit that failed, and would connect: that may fail, too, and would then be
            # reported instead of the commit. A new connection is in this mode anyway.
            self.autocommit = True
            return
        super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)

    def _set_autocommit(self, autocommit: bool) -> None:
        if not autocommit:
            self.refuse_while_commits_wait()
        super()._set_autocommit(autocommit)  # type: ignore[misc]

    def refuse_while_commits_wait(self) -> None:
        """Start no transaction that could not commit; each would leave a session that waits on the server."""
        if not standby_outage.is_on or limits.remaining() is None:
            return
        with self.wrap_database_errors:
            waiting = commits_waiting(self.connection)
        if waiting:
            raise CommitsWaitError("commits are waiting for a synchronous standby")
        standby_outage.end()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        except (OperationalError, InternalError) as error:
            # psycopg's InternalError: "received 2 results from command 'COMMIT'", the second one being that the server
            # ends the session, as in a switchover.
            raise _unless_rolled_back(error) from error.__cause__
        note_commit()

    def _rollback(self) -> None:
        note_rollback()
        super()._rollback()  # type: ignore[misc]


def _note_outcome(
    execute: Callable[..., object],
    statement: object,
    params: object,
    many: bool,
    context: dict[str, Any],
) -> object:
    """Note what was written. A statement outside a transaction is one of its own, which commits at its end."""
    if isinstance(statement, str) and statement.lstrip(" \n(").startswith(READS):
        return execute(statement, params, many, context)
    is_whole = not context["connection"].in_atomic_block
    if is_whole:
        context["connection"].refuse_while_commits_wait()
    try:
        result = execute(statement, params, many, context)
    except OperationalError as error:
        if is_whole:
            raise _unless_rolled_back(error) from error.__cause__
        raise
    if context["cursor"].rowcount:
        note_write()
        if read_only_outage.is_on and context["cursor"].rowcount > 0:
            read_only_outage.end()
    if is_whole:
        note_commit()
    return result


def _unless_rolled_back(error: DatabaseError) -> DatabaseError:
    state = getattr(error.__cause__, "sqlstate", None)
    is_lost = state is None or state.startswith(LOST)
    return CommitUnknown(*error.args) if is_lost and not isinstance(error, ReadOnlyDatabase) else error
