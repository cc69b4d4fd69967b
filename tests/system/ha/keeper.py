"""Ends every process of a run when the run ends, however it ends."""

import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def keep(run: Callable[[Path], int], *, keep_folder: bool) -> int:
    """Run in a child process and return its exit code; then kill whatever it has left running.

    PostgreSQL outlives a killed Patroni, and belongs to no process group of ours: what has lost its parent becomes a
    child of this process. If this process is killed, the child gets SIGTERM and stops everything itself.
    """
    folder = Path(tempfile.mkdtemp(prefix="kilit-ha-"))
    folder.chmod(0o711)  # PostgreSQL's own user must pass through it to its data
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if not child:
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ha: stopped"))
        sys.exit(run(folder))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the child, too
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    try:
        while True:
            ended, status = os.wait()
            if ended == child:
                return abs(os.waitstatus_to_exitcode(status))
    finally:
        kill_descendants()
        if not keep_folder:
            shutil.rmtree(folder, ignore_errors=True)


def kill_descendants() -> None:
    """Kill all processes below this one; those of a killed process become our children, and are found next time."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.05)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
