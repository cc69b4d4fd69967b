"""Two changes of the same rows, the second before the first is committed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections, transaction

from tests.support.waiting import PATIENCE, has_waiter, wait_until


def in_own_session(function: Callable[[], Any]) -> Any:
    try:
        return function()
    finally:
        connections.close_all()


def one_after_the_other(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """Do one thing, let another begin and wait for it, and only then commit."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            done = first()
            other = pool.submit(in_own_session, second)
            wait_until(has_waiter, every=0.01)
        return [done, other.result(timeout=PATIENCE)]


def one_within_the_other(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """Do one thing, let another begin and end without waiting for it, and only then commit."""
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        return [first(), pool.submit(in_own_session, second).result(timeout=PATIENCE)]
