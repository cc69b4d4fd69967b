"""A process whose parent is gone ends at once where the system reports it, and within half a second elsewhere."""

import subprocess
import sys

import pytest

from kilit.workers.processes import PARENT, kill_group
from tests.support.waiting import PATIENCE, wait_for_the_end

LONG = 10 * PATIENCE  # seconds
# It would look again only long after the test has given up.
CHILD = f"""
import os, time
from kilit.workers import processes
processes.POLL = {LONG}
processes.die_with_parent()
print(os.getpid(), flush=True)
time.sleep({LONG})
"""
MIDDLE = f"""
import os, subprocess, sys, time
environment = {{**os.environ, {PARENT!r}: str(os.getpid())}}
subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=environment, start_new_session=True)
time.sleep({LONG})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the end of a process by a file")
def test_an_orphan_is_woken_by_the_end_of_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", MIDDLE, CHILD], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())

        parent.kill()

        try:
            wait_for_the_end(child)
        finally:
            kill_group(child)
