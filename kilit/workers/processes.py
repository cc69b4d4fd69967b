"""Process groups: the one place for calls that only POSIX has, each with a way on Windows."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

POLL = 0.5
PARENT = "KILIT_PARENT"  # set for processes that must not outlive the one that started them

_parent = os.getpid()


def start_group(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a process group of its own."""
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP  # the console's Ctrl-C is for us alone
        return subprocess.Popen(command, env=dict(environment), cwd=folder, creationflags=flags)
    return subprocess.Popen(command, env=dict(environment), cwd=folder, start_new_session=True)


def kill_group(leader: int, *, wait: float = 5.0) -> None:
    """Kill a whole group, also when its leader is gone, and wait until none of it runs."""
    end = time.monotonic() + wait
    while time.monotonic() < end and (members := group_members(leader)):
        if sys.platform == "win32":
            _kill_each(members)
        else:
            try:
                os.killpg(leader, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return
        time.sleep(0.05)


def kill_family(leader: int) -> None:
    """Kill a group and each group below it: a cluster, in a group of its own, would outlive its supervisor a while."""
    below: set[int] = set()
    if sys.platform != "win32":  # where there are no groups, and a leader's family is all of them
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(leader).children(recursive=True):
                with suppress(ProcessLookupError):
                    below.add(os.getpgid(process.pid))
    for group in (leader, *(below - {leader})):  # the leader first, so that it starts nothing anew
        kill_group(group)


def group_members(leader: int) -> list[psutil.Process]:
    """Return the running processes of a group; a zombie does not run."""
    if sys.platform == "win32":
        return _family(leader)
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def _family(leader: int) -> list[psutil.Process]:
    """Return a process and its descendants; Windows has no groups, but remembers parents that are gone."""
    children: dict[int, list[psutil.Process]] = {}
    found = [process for process in psutil.process_iter(["ppid"]) if process.pid == leader]
    for process in psutil.process_iter(["ppid"]):
        children.setdefault(process.info["ppid"], []).append(process)
    waiting = [leader]
    while waiting:
        below = [process for process in children.pop(waiting.pop(), []) if process.pid != leader]
        found += below
        waiting += [process.pid for process in below]
    return [process for process in found if runs(process)]


def runs(process: psutil.Process) -> bool:
    """Tell whether a process runs; one that nobody has buried does not."""
    with suppress(psutil.NoSuchProcess):  # it may end between the two questions
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _kill_each(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process.kill()


def die_with_parent() -> None:
    """Make this process, and each one forked from it, end the whole group when its parent is gone.

    It holds for processes started with KILIT_PARENT; the pid comes from there because a parent that is dead already
    could not be asked for. django-q2's children would outlive a killed parent and go on working beside the next
    deployment: whichever of them finds itself an orphan takes the group down.
    """
    if parent := os.environ.get(PARENT):
        if sys.platform != "win32":
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
    while not is_orphan_of(parent):
        time.sleep(POLL)
    if sys.platform == "win32":
        _kill_each([process for process in _family(os.getpid()) if process.pid != os.getpid()])
        os._exit(1)
    else:
        os.killpg(os.getpgrp(), signal.SIGKILL)


def is_orphan_of(parent: int) -> bool:
    """Tell whether the process that started this one is gone; on Windows its number stays after it."""
    if sys.platform == "win32":
        return not psutil.pid_exists(parent)
    return os.getppid() != parent
