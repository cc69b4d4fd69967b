"""Process groups, also the way Windows finds them: by who started whom."""

import os
import sys

import psutil

from kilit.workers.processes import _family, _kill_each, group_members, kill_family, kill_group, start_group
from tests.support.waiting import PATIENCE, runs, wait_until

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


# A worker with a browser, which has a session of its own.
WITH_A_BROWSER = (
    f"import subprocess, sys;subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True); {SLEEP}"
)


def test_families_end_together_with_what_has_a_group_of_its_own() -> None:
    leaders = [start_group([sys.executable, "-c", WITH_A_BROWSER], environment=os.environ) for _ in range(2)]
    browsers = [wait_until(psutil.Process(leader.pid).children)[0] for leader in leaders]
    try:
        kill_family(*(leader.pid for leader in leaders))

        assert not any(runs(process) for process in browsers)
        assert group_members(*(leader.pid for leader in leaders)) == []
    finally:
        kill_group(*(process.pid for process in [*leaders, *browsers]))
        for leader in leaders:
            leader.wait(timeout=PATIENCE)


def test_whoever_ends_while_it_is_looked_at_belongs_to_no_family(monkeypatch) -> None:
    """Groups are looked at right after they were killed."""

    def gone(process: psutil.Process) -> str:
        raise psutil.NoSuchProcess(process.pid)

    monkeypatch.setattr(psutil.Process, "status", gone)

    assert _family(os.getpid()) == []
