"""A worker's turn: work for a while, then let scheduled tasks and heartbeats have theirs."""

import time
from collections.abc import Callable

from kilit.workers import doorbells

TURN = 10.0  # seconds


def work_in_turns(bell: str, step: Callable[[], int | None], *, seconds: float = TURN) -> int:
    """Call `step` until it returns None, for nothing is left, or the turn is over; then ring if rows are still due.

    Return the sum of what the steps returned.
    """
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        result = step()
        if result is None:
            return done
        done += result
    doorbells.ring_if_due(bell)
    return done
