"""`manage.py up` from an empty folder: everything starts, Ctrl-C stops it, and nothing is left running."""

import json
import re
import shutil
import signal
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from config.local.up import is_ready
from pdfjobs.browser import find_browser
from tests.support.commands import manage
from tests.support.local_installation import Installation
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until


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
