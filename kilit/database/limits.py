"""How long this process waits for an answer of the database.

Each long-running process sets its own limit; a command such as `migrate`, `backup` or an import has no limit.

- web processes: KILIT_DATABASE_TIMEOUT, for a statement and for all unanswered statements of a request together. When
  all threads but two have waited for a second, the last two wait no longer: they answer 503, and /healthz
- supervisors, runners, and the parts of a cluster that pass tasks on: KILIT_DATABASE_TIMEOUT for a statement
- tasks (sweeps, bulk actions, uploads): KILIT_TASK_TIMEOUT for a statement, the limit of the task itself

The limit is the client's: a server that is gone cannot enforce it, and neither can a network or a pooler that accepts
requests and never answers. `statement_timeout` would also be a session's setting, which a pooler in transaction mode
gives to other clients.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from django.core.signals import request_started

SPARE_THREADS = 2
LAST_SECONDS = 1.0


class _Process:
    limit: float | None = None  # seconds
    most_waiting = 10_000  # threads that may wait until the limit
    waits: dict[int, float] = {}  # thread: since when it waits for the database


class _Request(threading.local):
    spent: float | None = None  # seconds that the current request waited in vain; None outside of requests


_request = _Request()


def limit_statements(seconds: float | None) -> None:
    """Limit how long each statement of this process may take; None removes the limit."""
    _Process.limit = seconds


def limit_requests(seconds: float, *, threads: int) -> None:
    """Limit each statement, and the sum of what a request waits in vain: it may try several connections."""
    limit_statements(seconds)
    _Process.most_waiting = max(1, threads - SPARE_THREADS)
    request_started.connect(_start_request, dispatch_uid="kilit.database.limits")


def remaining() -> float | None:
    """Return how many seconds the next statement may take, or None if there is no limit."""
    if _Process.limit is None:
        return None
    return max(0.0, _Process.limit - (_request.spent or 0.0))


def remaining_of_last() -> float:
    """Return how many seconds a statement may take that begins while almost all threads wait."""
    starts = sorted([*_Process.waits.values()])[_Process.most_waiting - 1 :]
    return max(0.0, starts[0] + LAST_SECONDS - time.monotonic()) if starts else inf


@contextmanager
def waiting() -> Iterator[None]:
    """Count this thread among those that wait for the database."""
    thread = threading.get_ident()
    _Process.waits[thread] = time.monotonic()
    try:
        yield
    finally:
        _Process.waits.pop(thread, None)


def spend(seconds: float) -> None:
    """Note a wait in vain; it shortens the next ones of the same request."""
    if _request.spent is not None:
        _request.spent += seconds


def _start_request(**_: object) -> None:
    _request.spent = 0.0
