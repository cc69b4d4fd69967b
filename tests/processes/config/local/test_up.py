"""`manage.py up` from an empty folder: everything starts, Ctrl-C stops it, and nothing is left running."""

import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from config.local.up import is_ready
from kilit.postgres.place import home_of
from kilit.postgres.server import Server
from kilit.workers.processes import group_members
from pdfjobs.browser import find_browser
from tests.support.commands import ROOT, free_port, fresh_environment, manage
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until


class Installation:
    """A Kilit of its own: a data folder, a port, and the processes below `manage.py up`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.variables = {"KILIT_VAR": str(folder), "PORT": str(self.port)}
        self.log = folder.parent / "up.log"
        self.groups: set[int] = set()
        self.database_processes: set[psutil.Process] = set()

    def up(self) -> None:
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=ROOT,
                env=fresh_environment(**self.variables),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while "Kilit is ready at" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.2)
        below = set(psutil.Process(self.process.pid).children(recursive=True))
        self.database_processes |= set(self.postgres())
        for service in below - self.database_processes:
            with suppress(ProcessLookupError):
                self.groups.add(os.getpgid(service.pid))

    @property
    def database(self) -> Path:
        """Where the data really is: as root, under a closed folder, somewhere else."""
        return home_of(self.folder / "postgres")

    def postgres(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.Error):
                if process.name() == "postgres" and process.cwd().startswith(str(self.database)):
                    found.append(process)
        assert found
        return found

    def services(self) -> list[psutil.Process]:
        """Return what runs of every service there ever was, also what it started since."""
        return [process for group in self.groups for process in group_members(group)]

    def wait_until_nothing_runs(self) -> None:
        wait_until(lambda: self.services() == [])
        wait_for_the_end(*self.database_processes)

    def address(self, path: str) -> str:
        return f"http://localhost:{self.port}{path}"

    def login(self, role: str) -> str:
        """Log in as a browser would, with what was printed; return the page after."""
        username, password = re.search(rf"{role}\s+(\S+)\s+(\S+)", self.log.read_text()).groups()
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        browser.open(self.address("/admin/login/"), timeout=PATIENCE)
        token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
        form = {"username": username, "password": password, "csrfmiddlewaretoken": token}
        return (
            browser.open(self.address("/admin/login/"), urllib.parse.urlencode(form).encode(), timeout=PATIENCE)
            .read()
            .decode()
        )

    def stop(self) -> None:
        with suppress(ProcessLookupError, AttributeError):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=PATIENCE)
        Server(self.folder / "postgres").stop()


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation that never ran."""
    made = Installation(tmp_path / "var")
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.database, ignore_errors=True)


def wait_for_a_cut_order(installation: Installation) -> None:
    """Wait until a demo order of mode A was cut, solved by its command and not by the simulator of the other modes."""
    key = json.loads((installation.folder / "demo.json").read_text())["service"]
    jobs = urllib.request.Request(installation.address("/jobs?order_id=DEMO-1001"), headers={"x-api-key": key})

    def ask() -> dict[str, str]:
        return json.load(urllib.request.urlopen(jobs, timeout=PATIENCE))["jobs"][0]

    wait_until(lambda: ask()["state"] == "DONE")
    assert f"OptiPlanning wrote {ask()['id']}" not in installation.log.read_text()


def wait_for_a_webhook(installation: Installation) -> None:
    """Wait until the simulated receiver has verified a message about a demo order."""
    receiver = re.search(r"Webhooks are received at (\S+)", installation.log.read_text())[1]
    wait_until(lambda: json.load(urllib.request.urlopen(receiver, timeout=PATIENCE)).get("accepted"))


def render_heavy_documents(installation: Installation) -> list[psutil.Process]:
    """Let every worker render a long document; return the processes of their browsers, if there is one."""
    if find_browser() is None:
        return []
    key = json.loads((installation.folder / "demo.json").read_text())["service"]
    headers = {"x-api-key": key, "content-type": "application/json"}
    for number in range(8):
        line = {"description": "Bookcase, oak", "quantity": 2, "unit_price": "480.00", "tax_rate": 20}
        variables = {
            "locale": "en",
            "currency": "EUR",
            "number": f"LONG-{number}",
            "issued_on": "2026-11-15",
            "due_on": "2026-12-15",
            "lines": [line] * 1000,
            "seller": {"name": "Ege Mobilya A.Ş.", "address": "İzmir"},
            "buyer": {"name": "Çelik & Oğulları", "address": "İstanbul"},
        }
        body = json.dumps({"template_name": "invoice", "variables": variables}).encode()
        request = urllib.request.Request(installation.address("/pdf/jobs"), body, headers)
        assert urllib.request.urlopen(request, timeout=PATIENCE).status == 201
    below = psutil.Process(installation.process.pid)
    return wait_until(lambda: [each for each in below.children(recursive=True) if is_browser(each)])


def is_browser(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "chrom" in process.name()
    return False


def check_that_an_empty_folder_becomes_a_running_product(installation: Installation) -> None:
    installation.up()

    assert urllib.request.urlopen(installation.address("/readyz"), timeout=PATIENCE).status == 200
    assert "Log out" in installation.login("operator")
    with urllib.request.urlopen(installation.address("/static/admin/css/base.css"), timeout=PATIENCE) as static:
        assert static.status == 200
    wait_for_a_cut_order(installation)
    wait_for_a_webhook(installation)


def check_that_no_secret_is_on_a_command_line(installation: Installation) -> None:
    own = [psutil.Process(installation.process.pid), *installation.services()]
    lines = {process.pid: " ".join(process.cmdline()) for process in own}
    (receiver,) = [process for process in own if "simulators.webhooks" in lines[process.pid]]
    secrets = receiver.environ()["WEBHOOK_SECRETS"].split()
    secrets += [*json.loads((installation.folder / "demo.json").read_text()).values()]

    assert len(secrets) > 5
    assert [line for line in lines.values() if any(secret in line for secret in secrets)] == []
    assert [process for process in own if "WEBHOOK_SECRETS" in process.environ()] == [receiver]


def check_that_a_second_start_is_refused(installation: Installation) -> None:
    second = manage("up", **installation.variables)
    other_folder = manage("up", **{**installation.variables, "KILIT_VAR": f"{installation.folder}-other"})

    assert second.stderr.strip() == "CommandError: Kilit is already running here; stop it with `make down`."
    assert f"Port {installation.port} is in use; choose another one" in other_folder.stderr


def check_that_ctrl_c_ends_it(installation: Installation) -> None:
    installation.process.send_signal(signal.SIGINT)

    assert installation.process.wait(timeout=PATIENCE) == 0
    installation.wait_until_nothing_runs()


def check_that_kill_takes_the_services_along_and_the_next_start_goes_on(installation: Installation) -> None:
    installation.up()

    installation.process.kill()
    installation.process.wait(timeout=PATIENCE)

    wait_until(lambda: installation.services() == [])
    installation.up()
    assert "Log out" in installation.login("viewer")


def check_that_down_stops_it_amid_heavy_documents(installation: Installation) -> None:
    browsers = render_heavy_documents(installation)

    down = manage("down", **installation.variables)
    down_again = manage("down", **installation.variables)

    folder = installation.folder
    assert down.stdout.splitlines()[0] == f"Stopped what ran in {folder}."
    assert down_again.stdout.splitlines()[0] == f"Nothing was running in {folder}."
    assert installation.process.wait(timeout=PATIENCE) == 0
    wait_for_the_end(*browsers)
    installation.wait_until_nothing_runs()


SERVICES = {"web": "gunicorn", "worker": "runworkers", "runner": "orchestrator_tick", "receiver": "simulators.webhooks"}


def line_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):  # it has just ended
        return " ".join(process.cmdline())
    return ""


def check_that_a_service_that_dies_is_started_again(installation: Installation) -> None:
    installation.up()
    up = psutil.Process(installation.process.pid)

    def find(command: str) -> psutil.Process:
        (service,) = wait_until(lambda: [child for child in up.children() if command in line_of(child)])
        return service

    for name, command in SERVICES.items():
        killed = find(command)
        killed.kill()
        said = f"kilit: {name} ended (killed by SIGKILL); it is started again in 1 s."
        wait_until(lambda said=said: said in installation.log.read_text())
        wait_until(lambda command=command, killed=killed: find(command) != killed)
    installation.postgres()[0].kill()

    wait_until(lambda: is_ready(installation.address("/readyz")))
    assert "Log out" in installation.login("viewer")
    assert installation.process.poll() is None
    installation.process.terminate()
    assert installation.process.wait(timeout=PATIENCE) == 0


BY_DAY = (
    check_that_an_empty_folder_becomes_a_running_product,
    check_that_no_secret_is_on_a_command_line,
    check_that_a_second_start_is_refused,
    check_that_ctrl_c_ends_it,
)
BY_NIGHT = (
    check_that_kill_takes_the_services_along_and_the_next_start_goes_on,
    check_that_down_stops_it_amid_heavy_documents,
    check_that_a_service_that_dies_is_started_again,
)


@pytest.mark.parametrize("checks", [BY_DAY, pytest.param(BY_NIGHT, marks=pytest.mark.nightly)], ids=["day", "night"])
def test_an_installation_starts_and_ends(checks: Sequence[Callable[[Installation], None]], installation) -> None:
    """In one go, because a first start takes long, and each later one goes on with what the one before has left."""
    for check in checks:
        check(installation)
