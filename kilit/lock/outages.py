"""What an error of the database means for the work at hand: whether something was stored, and whether that is known.

The database backend (`kilit.postgres`) raises these errors and notes commits. Both are OperationalErrors, so code that
lets an outage pass lets them pass, too.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from kilit.database.outage import database_outage, standby_outage

DATABASE_DOWN = (OperationalError, InterfaceError)
# Classes of SQLSTATE, besides errors without one: the connection broke, login, no such database, too many connections,
# the server stops or starts. Other OperationalErrors, such as a deadlock, are about a statement.
OUTAGE_STATES = ("08", "28", "3D", "53300", "57P")
DISK_FULL = "53100"
DISK_FULL_FOR = 60.0  # seconds after a write that failed
_disk_full_until = float("-inf")

_has_written: ContextVar[bool] = ContextVar("has_written", default=False)  # in the current transaction
_has_stored: ContextVar[bool | None] = ContextVar("has_stored", default=None)  # None outside of requests


class ReadOnlyDatabase(OperationalError):
    """The server accepts no writes: it is a standby or an old primary, or an administrator made it read-only."""


class CommitsWaitError(OperationalError):
    """Commits wait for a synchronous standby that is gone: no transaction is begun, and what only reads goes on."""


class CommitUnknown(OperationalError):
    """The connection was lost during a commit: the transaction may be stored or not. Read again before you conclude."""


NOT_WRITABLE = (ReadOnlyDatabase, CommitsWaitError)  # the server answers, and what only reads goes on


def is_outage(error: BaseException) -> bool:
    """Return whether the database could not be reached or written, as opposed to refusing a statement."""
    if isinstance(error, (ReadOnlyDatabase, CommitUnknown, InterfaceError)):
        return True
    state = getattr(error.__cause__, "sqlstate", None)
    return isinstance(error, OperationalError) and (state is None or state.startswith(OUTAGE_STATES))


def note_outage(error: BaseException) -> None:
    """Log an outage once, and let the next step connect again. The backend logs that the server cannot be written."""
    if not (isinstance(error, NOT_WRITABLE) or standby_outage.is_on):
        database_outage.begin(error)
    if not isinstance(error, CommitsWaitError):  # there the connection works
        connection.close()


def is_disk_full(error: BaseException) -> bool:
    """Recognize the error of a database without space, and remember it for a while."""
    global _disk_full_until
    if is_full := getattr(error.__cause__, "sqlstate", None) == DISK_FULL:
        _disk_full_until = time.monotonic() + DISK_FULL_FOR
    return is_full


def was_disk_full() -> bool:
    """True for a while after this process met a full disk of the database; reads may still work."""
    return time.monotonic() < _disk_full_until


def note_write() -> None:
    _has_written.set(True)


def note_commit() -> None:
    if _has_written.get() and _has_stored.get() is not None:
        _has_stored.set(True)
    _has_written.set(False)


def note_rollback() -> None:
    _has_written.set(False)


def has_stored() -> bool:
    """Return whether the current request has committed something that its caller asked for."""
    return bool(_has_stored.get())


def is_outcome_known(error: Exception) -> bool:
    """Return whether an error of the database left nothing behind; not so after a commit of the same request."""
    return not (isinstance(error, CommitUnknown) or has_stored())


@contextmanager
def one_request() -> Iterator[None]:
    """Forget commits of earlier requests: threads are reused."""
    token = _has_stored.set(False)
    try:
        yield
    finally:
        _has_stored.reset(token)


@contextmanager
def bookkeeping() -> Iterator[None]:
    """For writes that the caller did not ask for, such as counting a request: it is no loss if they are lost."""
    token = _has_stored.set(_has_stored.get())
    try:
        yield
    except CommitUnknown as error:
        raise OperationalError(*error.args) from error
    finally:
        _has_stored.reset(token)


logger = logging.getLogger(__name__)

Result = TypeVar("Result")

TRY_AGAIN_AFTER = 0.5  # seconds


def keep_trying(
    store: Callable[[], Result], *, seconds: float, what: str, between: Callable[[], None] = lambda: None
) -> Result:
    """Store something; if the connection is lost meanwhile, try again for so many seconds.

    `store` must be safe to repeat: a commit whose answer was lost may have been made. `between` is called before each
    further try, and may end the wait by an exception of its own.
    """
    end, is_first = time.monotonic() + seconds, True
    while True:
        try:
            return store()
        except DATABASE_DOWN as error:
            if connection.in_atomic_block or time.monotonic() > end:
                raise
            if is_first:
                logger.warning("no database connection; will store %s again: %s", what, " ".join(str(error).split()))
        is_first = False
        connection.close()
        time.sleep(TRY_AGAIN_AFTER)
        with suppress(*DATABASE_DOWN):
            between()


@contextmanager
def interrupted_by_outages(task: str) -> Iterator[None]:
    """End a task at an outage without an error: leases run out, and supervisors find what is due again."""
    try:
        yield
    except DATABASE_DOWN as error:
        if not is_outage(error) or connection.in_atomic_block:
            raise
        logger.warning("%s was interrupted by an outage of the database: %s", task, " ".join(str(error).split()))
        connection.close()
