"""How much memory the embedded PostgreSQL keeps pages in."""

import os
from contextlib import suppress
from pathlib import Path

CONTAINERS_LIMIT = Path("/sys/fs/cgroup/memory.max")
LEAST, MOST = 128, 4096  # MB
SHARE = 8  # web, workers and browsers live on the same machine


def shared_buffers() -> str:
    """Return an eighth of what there is, as PostgreSQL writes it; it is taken only as pages are read."""
    return f"{min(max(memory_here() // SHARE // 2**20, LEAST), MOST)}MB"


def memory_here() -> int:
    """Return the bytes of memory of this machine, or of the container if that has less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no container, or one without a limit, which says "max"
        return min(machine, int(CONTAINERS_LIMIT.read_text()))
    return machine
