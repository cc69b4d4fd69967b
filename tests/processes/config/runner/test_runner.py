"""`kilit-runner` as a command and as a Windows service; pywin32 is played by stand-ins at the outermost edge."""

import json
from pathlib import Path

import pytest

from kilit.workers.models import Runner
from tests.support.commands import run_python
from tests.support.workers import database_url

MAIN = "from config.runner.main import main; raise SystemExit(main({arguments}))"

# A service manager made of files: it records every call, and stops the service as soon as it works.
PYWIN32 = {
    "win32service.py": "SERVICE_STOP_PENDING = 3\n",
    "win32serviceutil.py": """
import json, sys
class ServiceFramework:
    def __init__(self, arguments): self.arguments = arguments
    def ReportServiceStatus(self, status, waitHint=5000): sys.stdout.write(f"status {status} {waitHint}\\n")
def HandleCommandLine(cls, name, argv):
    sys.stdout.write(json.dumps([name, argv, cls._svc_name_, cls._exe_name_ == sys.executable, cls._exe_args_]))
    return 5 if "remove" in argv else 0
""",
    "servicemanager.py": """
import sys, threading, time
def LogErrorMsg(text): sys.stdout.write(f"event log: {text}\\n")
def Initialize(): pass
def PrepareToHostSingle(cls): global service; service = cls(["KilitRunner"])
def StartServiceCtrlDispatcher():
    def stop():
        from django.apps import apps
        while not apps.ready:
            time.sleep(0.05)
        from django.db import connection
        from kilit.workers.models import Runner
        while not Runner.objects.exists():
            time.sleep(0.05)
        connection.close()
        service.SvcStop()
    threading.Thread(target=stop, daemon=True).start()
    service.SvcDoRun()
    sys.stdout.write("ended\\n")
""",
}


@pytest.fixture
def pywin32(tmp_path: Path) -> str:
    for name, code in PYWIN32.items():
        (tmp_path / name).write_text(code)
    return str(tmp_path)


def kilit_runner(*arguments: str, **variables: str):
    return run_python("-c", MAIN.format(arguments=list(arguments)), **variables)


@pytest.mark.parametrize(("verb", "code"), [("install", 0), ("start", 0), ("stop", 0), ("remove", 5)])
def test_the_service_is_controlled_through_pywin32(verb: str, code: int, pywin32: str) -> None:
    ended = kilit_runner(verb, PYTHONPATH=pywin32)

    name, words, service, is_this_python, arguments = json.loads(ended.stdout)
    assert name == "config.runner.service.RunnerService"
    assert words == ["kilit-runner", *(["--startup", "auto"] if verb == "install" else []), verb]
    assert (service, is_this_python, arguments) == ("KilitRunner", True, "-m config.runner.service")
    assert ended.returncode == code


@pytest.mark.django_db(transaction=True)
def test_the_service_works_and_stops_gracefully(pywin32: str, tmp_path: Path) -> None:
    ended = run_python(
        "-m",
        "config.runner.service",
        PYTHONPATH=pywin32,
        KILIT_HOME=str(tmp_path),
        DATABASE_URL=database_url(),
        KILIT_RUNNER_PORT="0",
    )

    assert ended.stdout == "status 3 30000\nended\n", ended.stderr
    assert not Runner.objects.exists()
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_service_without_a_database_says_so_in_the_event_log(pywin32: str, tmp_path: Path) -> None:
    ended = run_python("-m", "config.runner.service", PYTHONPATH=pywin32, KILIT_HOME=str(tmp_path))

    assert ended.stdout.startswith("event log: Kilit runner: DATABASE_URL is not set.")
    assert ended.returncode == 1


def test_services_need_windows() -> None:
    ended = kilit_runner("install")

    assert ended.returncode == 1
    assert ended.stderr.startswith("kilit: services need Windows and pywin32")


def test_the_check_says_that_the_database_is_away(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DATABASE_URL=postgres://kilit:geheim@127.0.0.1:1/kilit\n", encoding="utf-8-sig")

    ended = kilit_runner("check", KILIT_HOME=str(tmp_path))

    assert ended.returncode == 1
    assert "FAIL       database: kilit on 127.0.0.1 does not answer: " in ended.stdout
    assert "PASS       rules: " in ended.stdout
    assert "geheim" not in ended.stdout + ended.stderr
