"""How much memory there is, and whether that is little."""

import os
from contextlib import suppress
from pathlib import Path

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
SMALL_BELOW = 1536 * 2**20  # bytes: a machine that is sold with 1 GB


def machine_memory() -> int:
    """Return the bytes of the machine, or of its container."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no container, or no limit ("max")
        memory = min(memory, int(CONTAINER_LIMIT.read_text()))
    return memory


def is_small() -> bool:
    return hasattr(os, "sysconf") and machine_memory() < SMALL_BELOW  # Windows, where only runners run, has none
