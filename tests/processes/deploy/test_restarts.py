"""A new version is rolled out under load: no request fails, and no job is lost or begun twice.

Each way of docs/deployment.md is gone as it is written there, with signals and by pid.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import psutil
import pytest

from kilit.workers.supervisor import BUSY
from tests.support.commands import free_port
from tests.support.installation import Installation, installation
from tests.support.proxies import BOTH, Proxy, nginx
from tests.support.steady_clients import Clients
from tests.support.waiting import PATIENCE, wait_for_the_end, wait_until

pytestmark = pytest.mark.nightly  # minutes of load around each restart
ROUNDS = 1
# The crew that is to be stopped is called to them by name: else the younger one might take them all.
LONG_TASKS = """
from django_q.tasks import async_task
from kilit.workers.models import Heartbeat
from tests.apps.parcels.models import Parcel
[Parcel.objects.create(work=5) for _ in range(6)]
async_task("kilit.workers.doorbells.handle", "parcels", cluster=Heartbeat.objects.get(pid=%d).name)
"""
LIVE = "SELECT count(*) FROM pdfjobs_pdfjob WHERE status IN ('queued', 'running')"
DOCUMENTS = "SELECT id::text, concat_ws(': ', status, nullif(error_detail, '')) FROM pdfjobs_pdfjob WHERE id = ANY(%s)"
GUNICORN = (Path(sys.executable).with_name("gunicorn"), "config.web.wsgi", "--config", "config/web/gunicorn.py")

HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Web:
    """The web service, and how it is restarted."""

    def __init__(self, kilit: Installation, *, by_socket: bool) -> None:
        self.kilit, self.by_socket = kilit, by_socket
        self.port = free_port()
        self.pid_file = kilit.folder.parent / f"web-{self.port}.pid"
        if by_socket:
            # systemd's socket unit, played by the test: the kernel keeps who knocks meanwhile.
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=2048)

    def close(self) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self.pid_file.read_text()), signal.SIGTERM)
        if self.by_socket:
            self.listener.close()

    def start(self) -> None:
        """Start on a port of its own, or as systemd does, with the socket as descriptor 3."""
        command: tuple[str | Path, ...] = (*GUNICORN, "--pid", self.pid_file)
        if self.by_socket:
            number = self.listener.fileno()
            self.process = self.kilit.start(sys.executable, "-c", HAND_OVER, number, *command, pass_fds=(number,))
        else:
            self.process = self.kilit.start(*command, variables={"PORT": str(self.port)})
        wait_until(lambda: self.pid_file.exists() and self.workers(self.process.pid))

    def stop_and_start(self) -> None:
        """Stop the old one, then start the new one: `systemctl restart kilit-web`."""
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE) == 0
        self.start()

    def restart_by_usr2(self) -> None:
        """Start the new one beside the old one, and stop the old one when the new one has workers."""
        old = int(self.pid_file.read_text())
        os.kill(old, signal.SIGUSR2)
        newer = self.pid_file.with_name(f"{self.pid_file.name}.2")
        wait_until(newer.exists)
        new = int(newer.read_text())
        wait_until(lambda: len(self.workers(new)) >= 2)
        os.kill(old, signal.SIGTERM)
        wait_for_the_end(old)
        wait_until(lambda: self.pid_file.exists() and int(self.pid_file.read_text()) == new)

    def renew_by_hup(self) -> None:
        """Let the same version put fresh processes in place of its own."""
        master = int(self.pid_file.read_text())
        before = set(self.workers(master))
        os.kill(master, signal.SIGHUP)
        wait_until(lambda: len(now := set(self.workers(master))) >= 2 and not now & before)

    @staticmethod
    def workers(master: int) -> list[int]:
        return [child.pid for child in psutil.Process(master).children()]


@pytest.fixture(scope="module")
def kilit() -> Iterator[Installation]:
    with installation("tests.apps.patient.settings") as made:
        made.must("migrate", "--verbosity", "0")
        made.logins = json.loads(made.must("demo", "--json"))
        made.crew = made.workers()
        yield made


@contextmanager
def asked_by_clients(web: Web, *, proxy: Proxy | None = None, folder: Path | None = None) -> Iterator[Clients]:
    """Serve clients of all kinds during the block, and find afterwards that each got all it was promised."""
    kilit = web.kilit
    web.start()
    with (
        proxy(folder, web=web.port) if proxy else nullcontext(web.port) as port,
        Clients(port, kilit.logins, round_name=f"round-{time.time()}", tls=bool(proxy)) as clients,
    ):
        clients.wait_for_answers(30)
        yield clients
        clients.wait_for_answers(30)
    assert clients.failures == []
    assert clients.documents
    wait_until(lambda: kilit.ask(LIVE) == [(0,)])
    ended = kilit.ask(DOCUMENTS, list(clients.documents))
    assert {job for job, _ in ended} == clients.documents
    assert [why for _, why in ended if why != "succeeded"] == []
    ids = [each.removeprefix("seal_") for each in clients.conversions]
    rows = dict(kilit.ask("SELECT id::text, status FROM offline_conversion_queue WHERE id = ANY(%s)", ids))
    assert rows.keys() == set(ids)
    completed = {f"seal_{row}" for row, status in rows.items() if status == "COMPLETED"}
    assert completed == clients.conversions & clients.acknowledged


def busy(crew: subprocess.Popen[bytes]) -> set[str]:
    """Return the process titles of busy workers, which contain the task's name."""
    titles = set()
    for process in psutil.Process(crew.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            titles.add(" ".join(process.cmdline()))
    return {title for title in titles if BUSY.match(title)}


def has_a_long_task(crew: subprocess.Popen[bytes]) -> bool:
    before = busy(crew)
    time.sleep(1)
    return bool(before & busy(crew))


WAYS: dict[str, Callable[[Web], None]] = {
    "restarted behind systemd's socket": Web.stop_and_start,
    "replaced by USR2": Web.restart_by_usr2,
    "renewed by HUP": Web.renew_by_hup,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_request_fails_while_the_web_service_is(way: str, kilit) -> None:
    with closing(Web(kilit, by_socket=WAYS[way] is Web.stop_and_start)) as web, asked_by_clients(web) as clients:
        for _ in range(ROUNDS):
            WAYS[way](web)
            clients.wait_for_answers(20)


@pytest.mark.parametrize("proxy", BOTH)
def test_no_request_fails_behind_a_proxy_while_the_web_service_restarts(proxy: Proxy, kilit, tmp_path: Path) -> None:
    """Behind nginx systemd holds the port; behind Caddy it is closed for a while, as that of a container."""
    with (
        closing(Web(kilit, by_socket=proxy is nginx)) as web,
        asked_by_clients(web, proxy=proxy, folder=tmp_path) as clients,
    ):
        for _ in range(ROUNDS):
            web.stop_and_start()
            clients.wait_for_answers(20)


def test_no_job_is_lost_or_begun_twice_while_workers_are_replaced(kilit) -> None:
    with closing(Web(kilit, by_socket=True)) as web, asked_by_clients(web) as clients:
        younger = kilit.workers()
        kilit.must("shell", "-c", LONG_TASKS % kilit.crew.pid)
        wait_until(lambda: has_a_long_task(kilit.crew))
        kilit.crew.terminate()
        assert kilit.crew.wait(timeout=PATIENCE) == 0
        kilit.crew = younger
        clients.wait_for_answers(20)
        wait_until(lambda: kilit.ask("SELECT count(*) FROM parcels_parcel WHERE status <> 'DELIVERED'") == [(0,)])

    # A worker that is stopped finishes its job: nothing was taken from it, and nothing was started again.
    assert kilit.ask("SELECT DISTINCT attempt_count FROM parcels_parcel") == [(1,)]
    assert kilit.ask("SELECT count(*) FROM lock_event WHERE actor = 'sweep:pdf_reap'") == [(0,)]


def test_a_stopped_runner_releases_its_job_and_the_next_one_continues(kilit) -> None:
    """Nothing waits for a lease to lapse."""
    code = "from orchestrator.demo import simulators_command as c; print(c())"
    quick = kilit.must("shell", "-c", code).splitlines()[-1]
    slow = json.dumps([*json.loads(quick)[:-1], "600"])  # seconds, so that it is running when the runner is stopped
    watch = (sys.executable, "manage.py", "orchestrator_tick", "--watch")
    live = "SELECT count(*) FROM orchestrator_job WHERE opti_mode = 'A' AND status NOT IN ('DONE', 'FAILED', 'HOLD')"
    # The workers of this installation hold jobs now and then, too, but never while OptiPlanning runs.
    running = "SELECT count(*) FROM orchestrator_job WHERE status = 'OPTI_RUNNING' AND claim_token IS NOT NULL"
    assert kilit.ask(live) != [(0,)]

    for _ in range(2):
        runner = kilit.start(*watch, variables={"KILIT_OPTI_COMMAND": slow})
        wait_until(lambda: kilit.ask(running) == [(1,)])
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(timeout=PATIENCE) == 0
        assert kilit.ask(running) == [(0,)]

    simulator = kilit.start(sys.executable, "-m", "simulators.optiplanning")
    last = kilit.start(*watch, variables={"KILIT_OPTI_COMMAND": quick})
    wait_until(lambda: kilit.ask(live) == [(0,)])
    for process in (last, simulator):
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE)
