"""Waiting for what happens by itself: long enough for a busy machine, because only a failure waits so long."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 180  # seconds


def wait_until(question: Callable[[], Any], *, every: float = 0.2) -> Any:
    """Wait for an answer that is not empty, return it, and fail when it does not come."""
    end = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < end, f"not within {PATIENCE} s: {question}"
        time.sleep(every)
    return answer
