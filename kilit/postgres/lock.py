"""Counts the processes that use a server, with flock: the kernel releases it however a process ends."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from pathlib import Path

_held: dict[Path, int] = {}
_guard = threading.Lock()


def hold(path: Path, *, when_last: Callable[[], object]) -> None:
    """Count this process as a user until it ends; the last one to end calls when_last."""
    with _guard:
        descriptor = _held.get(path)
        if descriptor is not None and _is_current(descriptor, path):
            return
        descriptor = _open(path)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _held[path] = descriptor
    # Not atexit: multiprocessing's children, such as the workers, skip it but do run finalizers. The negative
    # priority runs after multiprocessing has waited for our children: only then can we be the last.
    Finalize(None, _leave, args=(path, descriptor, when_last), exitpriority=-100)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Explicitly: a child forked meanwhile has a copy of the descriptor, so closing ours would not unlock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _leave(path: Path, descriptor: int, when_last: Callable[[], object]) -> None:
    # Unlock first, then try to lock: of two processes that leave together, the later one to unlock is alone.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    # New processes wait for our lock, then find the server stopped and start it. If the folder was deleted and
    # recreated meanwhile, the users of the new server are counted in another file.
    if _is_current(descriptor, path):
        when_last()
    _held.pop(path, None)
    os.close(descriptor)


def _forget() -> None:
    # A lock belongs to the open file, which fork shares: the parent could make the shared lock exclusive while
    # the child uses the server, and the child's copy would keep the lock after the parent is gone. So the child
    # closes its copy at once (which, unlike unlocking, keeps the parent's lock) and takes its own on connecting.
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()
    _guard.release()


# The guard is held during the fork, so that no other thread's half-finished work is copied into the child.
os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forget)


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    # Root may create the file in a user's folder; that user must be able to open it later.
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
