"""Stores what cannot be asked for again, such as the answer of another system, also when the database is away."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.db import connection

from kilit.lock.outages import DATABASE_DOWN

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
