"""Process groups: the one place for POSIX-only calls, each with an alternative for Windows."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

POLL = 0.5
PARENT = "KILIT_PARENT"  # set for processes that must not outlive the one that started them

_parent = os.getpid()


def start_group(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, is_piped: bool = False
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE if is_piped else None
    options: dict[str, Any] = {"env": dict(environment), "cwd": folder, "stdout": pipe, "stderr": pipe}
    if sys.platform == "win32":
        # So that the console's Ctrl-C reaches only us.
        return subprocess.Popen(command, creationflags=subprocess.CREATE_NEW_PROCESS_GROUP, **options)
    return subprocess.Popen(command, start_new_session=True, **options)


def kill_group(*leaders: int, wait: float = 5.0) -> None:
    """Kill whole groups, even if their leaders are gone, and wait once until all have ended."""
    end = time.monotonic() + wait
    while time.monotonic() < end and (members := group_members(*leaders)):
        if sys.platform == "win32":
            _kill_each(members)
        else:
            for leader in leaders:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(leader, signal.SIGKILL)
        time.sleep(0.05)


def kill_family(*leaders: int) -> None:
    """Kill groups and each group below them: clusters and browsers have their own, and would outlive who started them.

    All at once: a browser with a large document takes a while to end, and they need not do so one after the other.
    """
    below: set[int] = set()
    if sys.platform != "win32":  # Windows has no groups, and kill_group finds all descendants
        for leader in leaders:
            with suppress(psutil.NoSuchProcess):
                for process in psutil.Process(leader).children(recursive=True):
                    with suppress(ProcessLookupError):
                        below.add(os.getpgid(process.pid))
    kill_group(*leaders, *(below - set(leaders)))  # the leaders first, so that they restart nothing


def group_members(*leaders: int) -> list[psutil.Process]:
    """Return the running processes of groups; a zombie does not run."""
    if sys.platform == "win32":
        return [process for leader in leaders for process in _family(leader)]
    members = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(process.pid) in leaders and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
    return members


def _family(leader: int) -> list[psutil.Process]:
    """Return a process and its descendants; Windows has no groups, but remembers parents that are gone."""
    children: dict[int, list[psutil.Process]] = {}
    family = [process for process in psutil.process_iter(["ppid"]) if process.pid == leader]
    for process in psutil.process_iter(["ppid"]):
        children.setdefault(process.info["ppid"], []).append(process)
    waiting = [leader]
    while waiting:
        below = [process for process in children.pop(waiting.pop(), []) if process.pid != leader]
        family += below
        waiting += [process.pid for process in below]
    return [process for process in family if runs(process)]


def runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # it may end between the two calls
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _kill_each(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process.kill()


def die_with_parent() -> None:
    """Make this process, and each one forked from it, end the whole group when its parent is gone.

    Applies to processes started with KILIT_PARENT, which holds the pid: `getppid` of a parent that has died already
    would name another process. django-q2's children would outlive a killed parent and continue beside the next
    deployment; the first of them to find itself an orphan kills the group.
    """
    if parent := os.environ.get(PARENT):
        end_children_with_us()
        _watch(int(parent))


@cache
def end_children_with_us() -> None:
    """Make each process that is forked from now on end when this one does."""
    if sys.platform != "win32":
        # The pid was noted before the fork: a parent that died since is still recognised.
        os.register_at_fork(after_in_child=lambda: _watch(_parent))


def _watch(parent: int) -> None:
    global _parent
    _parent = os.getpid()
    threading.Thread(target=_end_when_orphaned, args=(parent,), daemon=True, name="orphan-watch").start()


def _end_when_orphaned(parent: int) -> None:
    with _handle_of(parent) as handle:
        while not is_orphan_of(parent):
            if handle is None:
                time.sleep(POLL)
            else:
                select.select([handle], [], [])  # ends when the parent does
    if sys.platform == "win32":
        _kill_each([process for process in _family(os.getpid()) if process.pid != os.getpid()])
        os._exit(1)
    else:
        os.killpg(os.getpgrp(), signal.SIGKILL)


@contextmanager
def _handle_of(process: int) -> Iterator[int | None]:
    """Yield a file that can be read when a process has ended; None where there is no such thing, or no such process."""
    handle: int | None = None
    if sys.platform == "linux":
        with suppress(OSError):  # it is gone, or a sandbox does not allow it
            handle = os.pidfd_open(process)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def is_orphan_of(parent: int) -> bool:
    """Return whether the process that started this one is gone; Windows keeps reporting its pid as the parent."""
    if sys.platform == "win32":
        return not psutil.pid_exists(parent)
    return os.getppid() != parent


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set, so that the current job is released."""
    stop = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in signals}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
