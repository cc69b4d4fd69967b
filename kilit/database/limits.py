"""How long this process waits for an answer of the database.

Each long-running process sets its own limit; a command such as `migrate`, `backup` or an import has no limit.

- web processes: KILIT_DATABASE_TIMEOUT, for a statement and for all unanswered statements of a request together
- supervisors, runners, and the parts of a cluster that pass tasks on: KILIT_DATABASE_TIMEOUT for a statement
- tasks (sweeps, bulk actions, uploads): KILIT_TASK_TIMEOUT for a statement, the limit of the task itself

The limit is the client's: a server that is gone cannot enforce it, and neither can a network or a pooler that accepts
requests and never answers. `statement_timeout` would also be a session's setting, which a pooler in transaction mode
gives to other clients.
"""

import threading

from django.core.signals import request_started


class _Process:
    limit: float | None = None  # seconds


class _Request(threading.local):
    spent: float | None = None  # seconds that the current request waited in vain; None outside of requests


_request = _Request()


def limit_statements(seconds: float | None) -> None:
    """Limit how long each statement of this process may take; None removes the limit."""
    _Process.limit = seconds


def limit_requests(seconds: float) -> None:
    """Limit each statement, and the sum of what a request waits in vain: it may try several connections."""
    limit_statements(seconds)
    request_started.connect(_start_request, dispatch_uid="kilit.database.limits")


def remaining() -> float | None:
    """Return how many seconds the next statement may take, or None if there is no limit."""
    if _Process.limit is None:
        return None
    return max(0.0, _Process.limit - (_request.spent or 0.0))


def spend(seconds: float) -> None:
    """Note a wait in vain; it shortens the next ones of the same request."""
    if _request.spent is not None:
        _request.spent += seconds


def _start_request(**_: object) -> None:
    _request.spent = 0.0
