"""Process groups: the one place for calls that only POSIX has."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

import psutil

POLL = 0.5

_parent = os.getpid()


def start_group(command: Sequence[str], *, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a process group of its own."""
    return subprocess.Popen(command, env=dict(environment), start_new_session=True)


def kill_group(leader: int, *, wait: float = 5.0) -> None:
    """Kill a whole group, also when its leader is gone, and wait until none of it runs."""
    end = time.monotonic() + wait
    while time.monotonic() < end and group_members(leader):
        try:
            os.killpg(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        time.sleep(0.05)


def group_members(leader: int) -> list[psutil.Process]:
    """Return the running processes of a group; a zombie does not run."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def die_with_parent(parent: int) -> None:
    """Make this process, and each one forked from it, end the whole group when its parent is gone.

    django-q2's children outlive a killed parent and go on working beside the next deployment. Whichever of them finds
    itself an orphan takes the group down.
    """
    os.register_at_fork(after_in_child=_watch_forking_parent)
    _watch(parent)


def _watch_forking_parent() -> None:
    # The pid was noted before the fork: a parent that died since is still recognised.
    _watch(_parent)


def _watch(parent: int) -> None:
    global _parent  # noqa: PLW0603 - what a process forked from this one will find as its parent's pid
    _parent = os.getpid()
    threading.Thread(target=_end_when_orphaned, args=(parent,), daemon=True, name="orphan-watch").start()


def _end_when_orphaned(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL)
    os.killpg(os.getpgrp(), signal.SIGKILL)
