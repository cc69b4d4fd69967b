"""All of the Procfile while the database accepts every byte and answers none: 503 soon, then back, or stopped."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from kilit.database.limits import SPARE_THREADS
from kilit.workers.processes import PARENT, kill_family
from outbox.models import Endpoint, OutboxMessage
from tests.support.commands import ROOT, free_port, fresh_environment, manage
from tests.support.faulty_network import FaultyNetwork, faulty_network
from tests.support.fixtures.webhooks import endpoint_at, receiver
from tests.support.outbox import queue_messages
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until
from tests.support.workers import database_url

__all__ = ["endpoint_at", "receiver"]

# Minutes of outages of everything at once; tests/kilit/database has those of one process.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]

THREADS = 16  # of config.web.gunicorn
PROCFILE = """
import sys
from pathlib import Path
from config.local.stack import Stack

stack = Stack(Path(), lock=Path(sys.argv[1]))
with stack.locked():
    sys.exit(stack.run())
"""


class Running:
    """The services of the Procfile, connected through a faulty network."""

    def __init__(self, room: Path, network: FaultyNetwork) -> None:
        self.network, self.port, self.log = network, free_port(), room / "log.txt"
        login, _, database = database_url().partition("@/")
        self.variables = {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": f"{login}@127.0.0.1:{network.port}/{database.partition('?')[0]}",
            "KILIT_DATABASE_TIMEOUT": "6",
            "KILIT_TASK_TIMEOUT": "5",
            "KILIT_VAR": str(room / "var"),
            "KILIT_WEBHOOK_PRIVATE_ADDRESSES": "127.0.0.0/8",
            "PORT": str(self.port),
            "WEB_CONCURRENCY": "1",
        }
        environment = fresh_environment(**self.variables, **{PARENT: str(os.getpid())})
        with self.log.open("w") as log:
            command = [sys.executable, "-c", PROCFILE, str(room / "var" / "run" / "up.pid")]
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, start_new_session=True)

    def get(self, path: str) -> tuple[int, float]:
        """Return the status of an answer, and when it came."""
        headers = {"x-api-key": "kilit_no_such_key"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, time.monotonic()
        except urllib.error.HTTPError as error:
            return error.code, time.monotonic()
        except OSError:
            return 0, time.monotonic()  # not listening yet

    def connections_of_web(self) -> int:
        """Return how many connections to the database the web process has: one for each thread that is taken."""
        web = [
            each
            for each in psutil.Process(self.process.pid).children(recursive=True)
            if each.name().startswith("gunicorn")
        ]
        return sum(
            bool(each.raddr) and each.raddr.port == self.network.port for one in web for each in one.net_connections()
        )

    def logged(self, text: str) -> int:
        """Return how many log lines begin so; each process writes its own."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        assert not [line for line in lines if "exc_info" in line and line["logger"].startswith("kilit")]
        return sum(line["message"].startswith(text) for line in lines)


@pytest.fixture
def network() -> Iterator[FaultyNetwork]:
    with faulty_network() as network:
        yield network


@pytest.fixture
def running(tmp_path: Path, network: FaultyNetwork) -> Iterator[Running]:
    running = Running(tmp_path, network)
    try:
        wait_until(lambda: running.get("/readyz")[0] == 200)
        yield running
    finally:
        kill_family(running.process.pid)
        running.process.wait(timeout=PATIENCE)


def seconds_of_requests(running: Running) -> float:
    """Return how long as many requests take while the database answers."""
    start = time.monotonic()
    with ThreadPoolExecutor(2 * THREADS) as pool:
        ends = [at for _, at in pool.map(running.get, ["/jobs"] * 2 * THREADS)]
    return max(ends) - start


def test_everything_waits_no_longer_than_its_limit_and_goes_on_by_itself(
    running: Running, network: FaultyNetwork, endpoint_at: Callable[..., Endpoint]
) -> None:
    usual = seconds_of_requests(running)
    network.swallow()
    start = time.monotonic()
    with ThreadPoolExecutor(2 * THREADS) as pool:
        requests = [pool.submit(running.get, "/jobs") for _ in range(2 * THREADS)]
        wait_until(lambda: running.connections_of_web() >= THREADS or any(each.done() for each in requests))
        # As many as may wait as long as the limit; the last threads fail after a second.
        wait_until(lambda: sum(each.done() for each in requests) >= SPARE_THREADS)
        liveness = [running.get("/healthz") for _ in range(3)]
        answers = [each.result(timeout=PATIENCE) for each in requests]

    assert [status for status, _ in liveness] == [200] * 3
    assert sum(at > liveness[-1][1] for _, at in answers) >= THREADS - SPARE_THREADS
    assert {status for status, _ in answers} == {503}
    # Ten seconds, and what a busy machine takes on top: measured, since it may be ten times slower than another.
    assert max(at for _, at in answers) - start < 10 + 10 * usual
    assert running.get("/readyz")[0] == 503

    (message,) = queue_messages(endpoint_at(), 1)
    wait_until(lambda: running.logged("waiting for the database") >= 3)  # the web process, the supervisor, the runner
    network.heal()
    wait_until(lambda: running.get("/readyz")[0] == 200)
    wait_until(lambda: OutboxMessage.objects.get(pk=message.pk).status == "DELIVERED")
    wait_until(lambda: running.logged("the database answers again") == running.logged("waiting for the database"))
    assert running.logged("waiting for the database") < 10  # those, and the cluster's processes, once each

    network.swallow()
    wait_until(lambda: running.get("/readyz")[0] == 503)
    below = psutil.Process(running.process.pid).children(recursive=True)
    down = manage("down", **running.variables)  # it has a limit of its own
    assert down.stdout.startswith(f"Stopped what ran in {running.variables['KILIT_VAR']}.")
    assert down.stderr == ""
    assert running.process.wait(timeout=PATIENCE) == 0
    wait_for_the_end(*below)
