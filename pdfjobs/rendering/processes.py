"""The processes of browsers and of Playwright's driver."""

import os
import signal
from contextlib import suppress

import psutil

from kilit.workers.processes import runs


def is_up(process: psutil.Process | None) -> bool:
    return process is not None and runs(process)


def is_driver(process: psutil.Process) -> bool:
    try:
        return "run-driver" in process.cmdline()
    except psutil.Error:
        return False


def kill(process: psutil.Process | None) -> None:
    """Kill a browser and its helpers: Playwright starts it as the leader of a process group."""
    if process is None or not process.is_running():  # also False when its pid was reused
        return
    with suppress(ProcessLookupError):
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)


def kill_tree(process: psutil.Process | None) -> None:
    """Kill a driver and everything it started."""
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            for child in (*process.children(recursive=True), process):
                kill(child)
