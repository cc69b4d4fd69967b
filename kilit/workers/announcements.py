"""Announcements that rows changed: supervisors and runners, which otherwise look every few seconds, look at once.

Workers are woken by doorbells. Announcements are for what has none: events that webhooks are made from, orders for a
runner on another machine, a scheduled task that is to run now. A process sends at most one a second, after its commits
and outside of them, because notifications make commits wait for each other. Changes that follow within the second are
found, too: a process that heard an announcement looks every second for a while.
"""

import time
from contextlib import suppress

from django.db import Error, connection

CHANNEL = "kilit_changes"
EVERY = 1.0  # seconds


class _Announcer:
    announces = False
    next_at = 0.0


def announce_changes() -> None:
    """Let this process announce what it changes; services call it when they start."""
    _Announcer.announces = True


def announce() -> None:
    """Announce that rows changed. If that fails, they are found a few seconds later."""
    if not _Announcer.announces or time.monotonic() < _Announcer.next_at or connection.in_atomic_block:
        return
    _Announcer.next_at = time.monotonic() + EVERY
    with suppress(Error), connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
