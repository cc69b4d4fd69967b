"""The size of shared_buffers for the embedded PostgreSQL."""

import os
from contextlib import suppress
from pathlib import Path

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
LEAST, MOST = 128, 4096  # MB
SHARE = 8  # web, workers and browsers run on the same machine


def shared_buffers() -> str:
    """Return an eighth of the memory, within bounds; it is allocated only as pages are read."""
    return f"{min(max(available_memory() // SHARE // 2**20, LEAST), MOST)}MB"


def available_memory() -> int:
    """Return the memory of this machine, or of the container if that is less, in bytes."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no container, or no limit ("max")
        return min(machine, int(CONTAINER_LIMIT.read_text()))
    return machine
