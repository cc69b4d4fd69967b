"""How many solvers may run on this machine at once, whichever processes start them.

A place is a locked file. The system releases the lock when the process that holds it ends, however it ends.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.files import locks

POLL = 0.1  # seconds


class NoPlaceFree(Exception):
    """As many solvers run already as there are places."""


def places() -> int:
    """Return how many cores can be spared: all but one, which serves people."""
    return settings.OPTIMISERS or max(1, (os.cpu_count() or 1) - 1)


@contextmanager
def place(wait: float) -> Iterator[None]:
    """Hold a place; NoPlaceFree if all stay taken for so many seconds."""
    folder = Path(settings.KILIT_VAR) / "optimisers"
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + wait
    while True:
        for number in range(places()):
            with (folder / f"{number}.lock").open("a") as file:
                if not locks.lock(file, locks.LOCK_EX | locks.LOCK_NB):
                    continue
                yield  # the lock ends when the file is closed
                return
        if time.monotonic() >= end:
            raise NoPlaceFree
        time.sleep(POLL)
