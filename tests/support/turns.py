"""Two changes of the same rows, of which the second waits for the first."""

from collections.abc import Callable
from threading import Thread
from typing import Any

from django.db import connections, transaction

from tests.support.waiting import PATIENCE, has_waiter, wait_until


def one_after_the_other(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """Do one thing, let another begin and wait for it, and only then commit."""
    found = []

    def wait_and_do() -> None:
        try:
            found.append(second())
        finally:
            connections.close_all()

    other = Thread(target=wait_and_do)
    with transaction.atomic():
        done = first()
        other.start()
        wait_until(has_waiter, every=0.01)
    other.join(timeout=PATIENCE)
    return [done, *found]
