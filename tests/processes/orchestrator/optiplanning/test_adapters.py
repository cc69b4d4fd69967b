"""Starting OptiPlanning, and never leaving it behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.errors import Code
from tests.support.adapters import fault_of, run
from tests.support.commands import ROOT
from tests.support.waiting import wait_for_the_end, wait_until

# Starts a child of its own, notes both, and sleeps.
SLEEPER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
time.sleep(300)
"""


@pytest.fixture
def command(settings: Any) -> Callable[..., None]:
    def use(*words: Any) -> None:
        settings.OPTI_COMMAND = json.dumps([str(word) for word in words])

    return use


@pytest.fixture
def sleeper(tmp_path: Path, command: Any) -> Callable[[], list[psutil.Process]]:
    """Use a command that never ends; return its processes when they run."""
    note = tmp_path / "pids"
    command(sys.executable, "-c", SLEEPER, note)

    def processes() -> list[psutil.Process]:
        wait_until(lambda: note.exists() and len(note.read_text().split()) == 2)
        return [psutil.Process(int(pid)) for pid in note.read_text().split()]

    return processes


def test_mode_c_returns_at_once() -> None:
    run("C", keep_alive=lambda: pytest.fail("nothing to wait for"))


def test_mode_a_gets_the_files_as_arguments_and_no_shell(tmp_path: Path, command: Any) -> None:
    record = tmp_path / "record"
    script = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
    command(sys.executable, "-c", script, record)
    files = [tmp_path / "a b.xlsx", tmp_path / "$(touch evil);`x`.xlsx", tmp_path / "Gümüş.xlsx"]

    run(files=files)

    assert json.loads(record.read_text()) == [str(file) for file in files]


def test_mode_a_may_take_the_plate_and_no_other_braces_are_touched(tmp_path: Path, command: Any) -> None:
    record = tmp_path / "record"
    script = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
    command(sys.executable, "-c", script, record, "/W:{plate_width}", "{plate_height}", "{other}", "{}", "{{plate}}")

    run(files=[Path("{plate_width}.xlsx")])

    assert json.loads(record.read_text()) == [
        *("/W:1830", "3660.5", "{other}", "{}", "{{plate}}"),
        "{plate_width}.xlsx",
    ]


SECRETS = (
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "DATABASE_URL",
    "PGPASSWORD",
    "KILIT_CREDENTIAL_KEYS",
    "KILIT_CRON_SECRET",
    "KILIT_METRICS_TOKEN",
    "KILIT_S3_BUCKET",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SENTRY_DSN",
    "Backup_Password",
)
# What OptiPlanning, its licence and Windows look for.
NEEDED = ("PATH", "HOME", "TEMP", "SystemRoot", "USERPROFILE", "APPDATA", "OPTI_LICENCE_SERVER", "PYTHONPATH")


def test_mode_a_does_not_pass_on_our_secrets(tmp_path: Path, command: Any, monkeypatch: Any) -> None:
    for name in (*SECRETS, *NEEDED[2:]):
        monkeypatch.setenv(name, "secret")
    record = tmp_path / "record"
    command(sys.executable, "-c", "import os, sys; open(sys.argv[1], 'w').write('\\n'.join(os.environ))", record)

    run()

    names = set(record.read_text().split())
    assert not names & set(SECRETS)
    assert not [name for name in names if name.startswith("KILIT_")]
    assert names >= set(NEEDED)


def test_the_lease_is_kept_while_it_runs(tmp_path: Path, command: Any) -> None:
    """The program runs until the lease has been renewed twice."""
    kept = tmp_path / "kept"
    kept.touch()
    script = "import os, sys, time\nwhile os.path.getsize(sys.argv[1]) < 2: time.sleep(0.05)"
    command(sys.executable, "-c", script, kept)

    run(keep_alive=lambda: kept.write_text(kept.read_text() + "x"))

    assert len(kept.read_text()) >= 2


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import sys; sys.exit(3)", "OptiPlanning failed, exit code 3."),
        ("import sys; sys.exit('no licence')", "OptiPlanning failed, exit code 1: no licence"),
        ("print('a'); print('disk\\x07 full'); raise SystemExit(2)", "OptiPlanning failed, exit code 2: disk? full"),
        ("import os; os.kill(os.getpid(), 9)", "OptiPlanning failed, it was killed."),
        ("import os; os.write(2, b'\\xff' * 3_000_000); raise SystemExit(4)", "OptiPlanning failed, exit code 4: "),
    ],
)
def test_a_program_that_fails_is_reported_with_its_last_line(command: Any, script: str, expected: str) -> None:
    command(sys.executable, "-c", script)

    fault = fault_of()

    assert fault.code == Code.OPTI_RUNNER_FAILED
    assert fault.message.startswith(expected)
    assert len(fault.message) < 3000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "KILIT_OPTI_COMMAND is not set."),
        ("no-such-program --x", "KILIT_OPTI_COMMAND: no-such-program is not on this machine."),
        ('["a", 1]', "KILIT_OPTI_COMMAND is not a valid command."),
        ('opti "unclosed', "KILIT_OPTI_COMMAND is not a valid command."),
    ],
)
def test_mode_a_without_a_command_is_reported(settings: Any, line: str, expected: str) -> None:
    settings.OPTI_COMMAND = line

    fault = fault_of()

    assert (fault.code, fault.message) == (Code.OPTI_MODE_A_RUNNER_MISSING, expected)


def test_a_file_that_is_no_program_is_reported(tmp_path: Path, command: Any) -> None:
    program = tmp_path / "opti.exe"
    program.write_bytes(b"\x00\x01 no program")
    program.chmod(0o755)
    command(program)

    fault = fault_of()

    assert fault.code == Code.OPTI_MODE_A_RUNNER_MISSING
    assert "Exec format error" in fault.message


def test_out_of_time_the_program_and_its_children_are_killed(sleeper: Any) -> None:
    found: list[psutil.Process] = []

    fault = fault_of(keep_alive=lambda: found.extend(sleeper()), time_limit=timedelta(seconds=3))

    assert fault.code == Code.OPTI_XML_TIMEOUT
    assert fault.message == "OptiPlanning did not end within 0.05 min."
    assert found
    wait_for_the_end(*found)


def test_a_job_that_is_not_ours_any_more_stops_the_program(sleeper: Any) -> None:
    found = []

    def lose() -> None:
        found.extend(sleeper())
        raise LookupError("the claim is somebody else's")

    with pytest.raises(LookupError):
        run(keep_alive=lose)

    assert len(found) == 2
    wait_for_the_end(*found)


def test_killed_with_minus_nine_we_take_the_program_with_us(tmp_path: Path, sleeper: Any, settings: Any) -> None:
    script = (
        "import django; django.setup()\n"
        "from datetime import timedelta\n"
        "from orchestrator.optiplanning.adapters import run_optiplanning\n"
        "plate = {'width_mm': '2100', 'height_mm': '2800'}\n"
        "run_optiplanning('A', [], plate=plate, keep_alive=lambda: None, time_limit=timedelta(minutes=5))\n"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "KILIT_OPTI_COMMAND": settings.OPTI_COMMAND,
    }
    runner = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment)
    try:
        processes = sleeper()
        keeper = processes[0].parent()
        assert all(process.is_running() for process in processes)
    finally:
        runner.send_signal(signal.SIGKILL)
        runner.wait()

    wait_for_the_end(*processes, keeper)


def test_a_guardian_that_is_killed_takes_nothing_with_it_that_we_do_not_end(sleeper: Any) -> None:
    found = []

    def kill_guardian() -> None:
        if not found:
            found.extend(sleeper())
            found[0].parent().kill()

    fault = fault_of(keep_alive=kill_guardian)

    assert fault.code == Code.OPTI_RUNNER_FAILED
    wait_for_the_end(*found)
