"""Waiting for what happens by itself: long enough for a busy machine, because only a failure waits so long."""

import time
from collections.abc import Callable
from typing import Any

import psutil
from django.db import connection

PATIENCE = 180  # seconds


def wait_until(question: Callable[[], Any], *, every: float = 0.2) -> Any:
    """Wait for an answer that is not empty, return it, and fail when it does not come."""
    end = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < end, f"not within {PATIENCE} s: {question}"
        time.sleep(every)
    return answer


def has_waiter() -> bool:
    """Tell whether another connection waits for a lock of this one."""
    with connection.cursor() as cursor:
        # Not pg_stat_activity, which a transaction reads once.
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None


def runs(process: psutil.Process | int) -> bool:
    """Tell whether a process is there; it may go at any moment, also between two questions, and nobody may bury it."""
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.is_running() and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_the_end(*processes: psutil.Process | int) -> None:
    """Wait until none of them runs: a kill is a message, and what it kills still runs when it was sent."""
    wait_until(lambda: not any(runs(process) for process in processes), every=0.05)
