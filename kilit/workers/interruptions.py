"""Tasks that run while the database goes away: one line in the log, where django-q2 would log and store a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from kilit.lock.outages import DATABASE_DOWN, is_outage

logger = logging.getLogger(__name__)


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
