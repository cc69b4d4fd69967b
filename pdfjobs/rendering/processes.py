"""Browsers and drivers as processes: whether they live, and their end."""

import os
import signal

import psutil

from kilit.workers.processes import runs


def is_up(process: psutil.Process | None) -> bool:
    """Tell whether there is a process, and it runs."""
    return process is not None and runs(process)


def is_driver(process: psutil.Process) -> bool:
    """Tell whether a child is Playwright's driver."""
    try:
        return "run-driver" in process.cmdline()
    except psutil.Error:
        return False


def kill(process: psutil.Process | None) -> None:
    """Kill a browser with its helpers: Playwright starts each as the leader of a group."""
    if process is None or not process.is_running():  # also false for another process with the same number
        return
    try:
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_tree(process: psutil.Process | None) -> None:
    """Kill a driver and all it started."""
    try:
        found = [] if process is None else [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return
    for child in found:
        kill(child)
