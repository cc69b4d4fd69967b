"""Ids that sort by time, so that the indexes of large tables grow at one end."""

import os
import time
from datetime import datetime
from uuid import UUID

PARTS = 1 << 12  # of a millisecond: a quarter of a microsecond each


def uuid7() -> UUID:
    """Return an RFC 9562 version 7 UUID: 48 bits of milliseconds, 12 bits of their fraction, then random bits.

    With milliseconds alone, rows made right after each other would be listed in any order.
    """
    milliseconds, part = divmod(time.time_ns() * PARTS // 1_000_000, PARTS)
    random = int.from_bytes(os.urandom(8), "big") & ~(0x3 << 62)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | part << 64 | 0x2 << 62 | random)


def first_at(moment: datetime) -> UUID:
    """Return an id below every one that `uuid7` has returned since that moment."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
