"""Identifiers that sort by time, so that the indexes of large tables grow at one end."""

import os
import time
from datetime import datetime
from uuid import UUID


def uuid7() -> UUID:
    """Return an RFC 9562 version 7 identifier: 48 bits of milliseconds, then random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = milliseconds << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76  # version
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant
    return UUID(int=value)


def first_at(moment: datetime) -> UUID:
    """Return an identifier below every one that `uuid7` gave since that moment."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
