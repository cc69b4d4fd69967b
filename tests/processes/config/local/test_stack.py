"""Starting and stopping everything: what needs no whole installation to be seen."""

import os
import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import psutil
import pytest

from config.local import stack, up
from config.local.screen import Screen, ServiceLogs
from kilit.workers.processes import kill_group
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until

# As a supervisor does whose worker is at a long task: it does not end, and its cluster has a group of its own.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"], start_new_session=True)
time.sleep(900)
"""


def test_what_does_not_end_in_time_is_killed_with_the_groups_below_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stack, "GRACE", 0)
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    (tmp_path / "Procfile").write_text("worker: python stubborn.py\n")
    kilit = stack.Stack(tmp_path, lock=tmp_path / "up.pid")
    kilit._start()
    leader = psutil.Process(kilit.services["worker"].process.pid)
    (below,) = wait_until(lambda: [child for child in leader.children() if os.getpgid(child.pid) == child.pid])

    try:
        kilit._stop()
        wait_for_the_end(leader, below)
    finally:
        kill_group(below.pid)


DEAF = """
import signal, sys, time
from pathlib import Path
from config.local.stack import Stack

signal.signal(signal.SIGTERM, signal.SIG_IGN)
with Stack(Path(), lock=Path(sys.argv[1])).locked():
    time.sleep(900)
"""


def test_down_kills_what_does_not_end_within_its_limit(tmp_path: Path) -> None:
    lock = tmp_path / "up.pid"
    deaf = subprocess.Popen([sys.executable, "-c", DEAF, str(lock)], cwd=ROOT)
    try:
        wait_until(lambda: lock.exists() and lock.read_text() == str(deaf.pid))

        stopped = stack.Stack(tmp_path, lock=lock).stop_other(wait=0)

        assert stopped
        assert deaf.wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        deaf.kill()
        deaf.wait(timeout=PATIENCE)


STARTING = """
import fcntl, os, signal, sys, time

lock = open(sys.argv[1], "a+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
lock.write(str(os.getpid()))
lock.flush()
time.sleep(900)
"""


def test_down_waits_for_the_pid_of_what_has_just_started(tmp_path: Path, monkeypatch) -> None:
    lock = tmp_path / "up.pid"
    starting = subprocess.Popen(
        [sys.executable, "-c", STARTING, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert starting.stdout.readline() == "locked\n"
        pause = stack.time.sleep

        def write_then_pause(seconds: float) -> None:
            starting.stdin.close()  # its sign to write the pid
            pause(seconds)

        monkeypatch.setattr(stack.time, "sleep", write_then_pause)

        assert stack.Stack(tmp_path, lock=lock).stop_other()
        assert starting.wait(timeout=PATIENCE) == -signal.SIGTERM
    finally:
        starting.kill()
        starting.wait(timeout=PATIENCE)
        starting.stdout.close()


@pytest.mark.parametrize("written", ["", "the pid of one that has ended"])
def test_down_ends_with_a_sentence_if_the_lock_is_held_and_names_no_process(tmp_path: Path, written: str) -> None:
    lock = tmp_path / "up.pid"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=PATIENCE)
    with stack.Stack(tmp_path, lock=lock).locked():
        lock.write_text(str(ended.pid) if written else "")

        with pytest.raises(SystemExit, match=re.escape(f"kilit: {lock} is locked, and names no process that runs.")):
            stack.Stack(tmp_path, lock=lock).stop_other(wait=0)


def test_a_slow_start_is_reported_once_and_the_logins_are_still_printed(tmp_path: Path, monkeypatch, capsys) -> None:
    came = iter([False, False, True])
    monkeypatch.setattr(up, "is_ready", lambda _: next(came))
    monkeypatch.setattr(up, "READY_WITHIN", 0)

    up.greet(stack.Stack(tmp_path, lock=tmp_path / "up.pid"), "http://localhost", ["Kilit is ready", "a-password"])

    said = capsys.readouterr()
    assert said.err.count("is not ready yet") == 1
    assert "Kilit is ready\na-password\n" in said.out


NOISY = """
import sys
sys.stdout.write("plan written\\n")
sys.stderr.write('{"level": "INFO", "message": "request"}\\n')
sys.stderr.write('{"level": "ERROR", "message": "no memory"}\\n')
"""


def test_the_screen_shows_errors_of_services_and_the_file_has_everything(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stack.signal, "signal", lambda *_: None)
    monkeypatch.setattr(stack, "FIRST_PAUSE", 0)
    monkeypatch.setattr(stack, "LOOK_EVERY", 0.05)
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "Procfile").write_text("web: python noisy.py\n")
    out = StringIO()
    kilit = stack.Stack(tmp_path, lock=tmp_path / "up.pid")
    kilit.logs = ServiceLogs(tmp_path / "up.log", Screen(out))

    assert kilit.run() == 1
    kilit.logs.close()

    assert "web error: no memory" in out.getvalue()
    assert "request" not in out.getvalue()
    assert "plan written" not in out.getvalue()
    assert "web ended 5 times soon after its start; stopping everything." in out.getvalue()
    assert "✓ Stopping" in out.getvalue()
    for line in ("plan written", '"request"', '"no memory"'):
        assert line in kilit.logs.file.read_text()


def test_a_service_starts_again_sooner_after_a_long_run(monkeypatch) -> None:
    now = 1000.0
    monkeypatch.setattr(stack.time, "monotonic", lambda: now)
    runner = stack.Service("runner", "python runner.py", started_at=now)

    assert [runner.note_end() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    runner.started_at = now - stack.STEADY_AFTER - 1
    assert runner.note_end() == 1
