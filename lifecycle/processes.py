"""Process groups: the one place for calls that only POSIX has."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

POLL = 0.5
PARENT = "KILIT_PARENT"  # set for processes that must not outlive the one that started them

_parent = os.getpid()


def start_group(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a process group of its own."""
    return subprocess.Popen(command, env=dict(environment), cwd=folder, start_new_session=True)


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


def die_with_parent() -> None:
    """Make this process, and each one forked from it, end the whole group when its parent is gone.

    It holds for processes started with KILIT_PARENT; the pid comes from there because a parent that is dead already
    could not be asked for. django-q2's children would outlive a killed parent and go on working beside the next
    deployment: whichever of them finds itself an orphan takes the group down.
    """
    if parent := os.environ.get(PARENT):
        os.register_at_fork(after_in_child=_watch_forking_parent)
        _watch(int(parent))


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
