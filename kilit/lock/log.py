"""Which events of the log are settled: every one up to an id is visible, or will never be.

Events do not commit in the order of their ids, so a reader that remembers the highest id would skip an event whose
transaction commits late. This is decided as CREATE INDEX CONCURRENTLY decides it. A transaction locks the table before
it gets the first id for an event, and until it ends. So first the highest id is read, then who holds such a lock: when
those transactions have ended, the events up to that id are settled. This costs writers nothing.
"""

import time

from kilit.database.sql import read_rows

LOOK_AGAIN_AFTER = 0.05  # seconds, while transactions that write events are about to end

# Transactions that have written to the table, by the names that they have among the locks.
WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = 'lock_event'::regclass AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid()
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def writers() -> list[str]:
    return sorted(name for (name,) in read_rows(WRITERS))


def settled_up_to(newest: int, *, seconds: float) -> int:
    """Wait until the events up to an id that was just read are settled; return it, or 0 if a writer takes too long."""
    left, end = set(writers()), time.monotonic() + seconds
    while left and time.monotonic() < end:
        time.sleep(LOOK_AGAIN_AFTER)
        left &= set(writers())
    return 0 if left else newest
