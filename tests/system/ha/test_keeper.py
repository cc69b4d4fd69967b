"""Nothing of a run outlives it, whichever of its processes is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, fresh_environment
from tests.support.waiting import wait_for_the_end

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: prctl makes orphans children of the run"),
]

# A daemon, as PostgreSQL is one: it has a session of its own, and its parent is gone.
START_DAEMON = """
import os, signal, subprocess, sys, time
from tests.system.ha.keeper import keep

def run(folder):
    daemon = subprocess.run(["sh", "-c", "setsid sleep 1000 > /dev/null & echo $!"], stdout=subprocess.PIPE, text=True)
    try:
        print(daemon.stdout.strip(), os.getpid(), folder, flush=True)  # the answer may be a signal
        {then}
    finally:
        os.kill(int(daemon.stdout), signal.SIGKILL)

sys.exit(keep(run, keep_folder=False))
"""


def start(then: str) -> tuple[subprocess.Popen[str], int, int, Path]:
    """Start a run; return it with the pids of its daemon and its child, and its folder."""
    command = [sys.executable, "-c", START_DAEMON.format(then=then)]
    process = subprocess.Popen(command, cwd=ROOT, env=fresh_environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    daemon, child, folder = process.stdout.readline().split()
    return process, int(daemon), int(child), Path(folder)


def test_a_killed_run_leaves_nothing() -> None:
    process, daemon, _, folder = start("os.kill(os.getpid(), signal.SIGKILL)")

    process.communicate()

    assert process.returncode == 9
    wait_for_the_end(daemon)
    assert not folder.exists()


def test_a_killed_keeper_leaves_no_process() -> None:
    process, daemon, child, folder = start("time.sleep(1000)")

    process.kill()
    process.communicate()

    wait_for_the_end(child, daemon)
    folder.rmdir()
