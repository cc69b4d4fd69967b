"""Process groups, also the way Windows finds them: by who started whom."""

import os
import sys

import psutil

from kilit.workers.processes import _family, _kill_each, group_members, kill_group, start_group
from tests.support.waiting import PATIENCE, wait_until

SLEEP = f"import time; time.sleep({PATIENCE})"
A_FAMILY = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


def pids(processes) -> set[int]:
    return {process.pid for process in processes}


def test_a_family_is_the_group_that_windows_does_not_have() -> None:
    leader = start_group([sys.executable, "-c", A_FAMILY], environment=os.environ)
    try:
        wait_until(lambda: len(group_members(leader.pid)) == 2)

        assert pids(_family(leader.pid)) == pids(group_members(leader.pid))
        assert len(_family(leader.pid)) == 2

        _kill_each(_family(leader.pid))
        leader.wait(timeout=PATIENCE)
        wait_until(lambda: group_members(leader.pid) == [])
    finally:
        kill_group(leader.pid)


def test_whoever_ends_while_it_is_looked_at_belongs_to_no_family(monkeypatch) -> None:
    """Groups are looked at right after they were killed."""

    def gone(process: psutil.Process) -> str:
        raise psutil.NoSuchProcess(process.pid)

    monkeypatch.setattr(psutil.Process, "status", gone)

    assert _family(os.getpid()) == []
