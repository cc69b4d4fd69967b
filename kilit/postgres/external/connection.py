"""A psycopg connection that waits no longer than this process's limit (`kilit.database.limits`).

Two methods of psycopg's internals are replaced, `wait` and `_start_query`, as of psycopg 3.3. Their tests fail if a
later version no longer calls them.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors, generators
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus, TransactionStatus

from kilit.database import limits
from kilit.database.outage import database_outage, standby_outage

CHECK_SECONDS = 2  # for a small statement that only asks whether the server answers
CANCEL_SECONDS = 1.0
# A commit that waits this long is not waiting for a healthy standby.
COMMITS_WAIT = """
    SELECT count(*) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '2 seconds'
"""
WAIT_INTERVAL = 0.1  # psycopg's own: how often Ctrl-C is noticed

Result = TypeVar("Result")


class Unanswered(psycopg.OperationalError):
    """The limit of this process passed, and no answer came."""


class LimitedConnection(psycopg.Connection[Any]):
    idle_seconds = 60  # a transaction of a hung process must not hold its locks, or block vacuum, indefinitely
    _params: dict[str, Any]
    _check: float | None = None  # a shorter limit

    @classmethod
    def connect(cls, conninfo: str = "", **params: Any) -> Self:
        connection = super().connect(conninfo, **params)
        connection._params = params  # noqa: SLF001 - its own
        return connection

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Allow the statements of this block little time: they only ask whether the server answers."""
        self._check = CHECK_SECONDS
        try:
            yield
        finally:
            self._check = None

    def wait(self, gen: PQGen[Result], interval: float = WAIT_INTERVAL, timeout: float | None = None) -> Result:
        limit = limits.remaining() if timeout is None else None  # a wait for notifications has a timeout of its own
        if limit is None:
            return super().wait(gen, interval, timeout)
        limit = min(limit, self._check or limit)
        if self.pgconn.transaction_status == TransactionStatus.IDLE:  # or the outcome of a transaction would be unknown
            limit = min(limit, limits.remaining_of_last())
        start = time.monotonic()
        try:
            with limits.waiting():
                return super().wait(gen, interval, limit)
        except errors._WaitTimeout:
            self._give_up()
            limits.spend(time.monotonic() - start)
        raise Unanswered(f"the database did not answer within {limit:.0f} s")

    def _give_up(self) -> None:
        """Find out by another connection why there is no answer, and close this one: a late answer has no reader."""
        try:
            params = {**self._params, "connect_timeout": CHECK_SECONDS, "autocommit": True}
            with CheckConnection.connect(**params) as check:
                waiting = commits_waiting(check)
        except psycopg.Error as error:
            database_outage.begin(error, pause=True)
        else:
            if waiting:
                standby_outage.begin(f"{waiting} so far")
            else:
                # Not while commits wait: there, to cancel means that others see rows that a failover would lose.
                with suppress(psycopg.Error):
                    self.cancel_safe(timeout=CANCEL_SECONDS)
        finally:
            self.close()

    def _start_query(self) -> PQGen[None]:
        """Begin a transaction, and limit how long it may be idle, both in one message.

        `SET LOCAL`, because a pooler gives what a session sets to other clients, and refuses the startup parameter
        `options`.
        """
        if self.autocommit or self.pgconn.transaction_status != TransactionStatus.IDLE:
            return
        limit = f"; SET LOCAL idle_in_transaction_session_timeout = '{self.idle_seconds}s'"
        self.pgconn.send_query(self._get_tx_start_command() + limit.encode())
        for result in (yield from generators.execute(self.pgconn)):
            if result.status != ExecStatus.COMMAND_OK:
                raise errors.error_from_result(result)


class CheckConnection(psycopg.Connection[Any]):
    """A connection for one small statement."""

    def wait(self, gen: PQGen[Result], interval: float = WAIT_INTERVAL, timeout: float | None = None) -> Result:
        return super().wait(gen, interval, timeout or CANCEL_SECONDS)


def commits_waiting(connection: psycopg.Connection[Any]) -> int:
    with psycopg.Cursor(connection) as cursor:
        row = cursor.execute(COMMITS_WAIT).fetchone()
    return row[0] if row else 0
