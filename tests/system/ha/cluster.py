"""etcd, and two PostgreSQL servers that Patroni manages: the leader and its synchronous standby."""

import base64
import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from kilit.postgres.account import ENVIRONMENT, account_for
from tests.support.commands import free_port
from tests.support.waiting import wait_for_the_end, wait_until
from tests.system.ha import configuration, packages
from tests.system.ha.configuration import HOST, Node, Passwords


class Daemons:
    """Processes of the cluster, run by a user that is not root, with their logs in one folder."""

    def __init__(self, folder: Path) -> None:
        """Start nothing yet."""
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.account = account_for(folder)

    def folder_for(self, name: str) -> Path:
        """Create a folder that belongs to the daemons' user."""
        path = self.folder / name
        path.mkdir(mode=0o700)
        if self.account.user is not None:
            shutil.chown(path, self.account.user, self.account.group)
        return path

    def write(self, path: Path, text: str) -> Path:
        """Write a file for the daemons' user; it has passwords."""
        path.touch(mode=0o600)
        path.write_text(text)
        if self.account.user is not None:
            shutil.chown(path, self.account.user, self.account.group)
        return path

    def start(self, name: str, *command: str | Path) -> None:
        """Start a daemon in the foreground."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, cwd="/", env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=self.account.user, group=self.account.group, extra_groups=self.account.groups,
                start_new_session=True,
            )  # fmt: skip

    def check(self) -> None:
        """Fail if a daemon has ended by itself."""
        for name, process in self.running.items():
            assert process.poll() is None, f"{name} has ended: {(self.folder / f'{name}.log').read_text()[-2000:]}"

    def kill(self, name: str) -> None:
        """Kill a daemon."""
        process = self.running.pop(name)
        process.kill()
        process.wait()


class Cluster:
    """Two servers, of which one leads."""

    def __init__(self, daemons: Daemons) -> None:
        """Choose ports and folders."""
        self.daemons, self.passwords, self.etcd = daemons, Passwords(), free_port()
        programs = packages.newest()
        assert programs, "PostgreSQL is not installed"
        self.programs = programs
        self.nodes = [Node(name, daemons.folder_for(name)) for name in ("a", "b")]

    def start(self) -> None:
        """Start etcd and both servers, and wait until one follows the other synchronously."""
        peer, client = f"http://{HOST}:{free_port()}", f"http://{HOST}:{self.etcd}"
        self.daemons.start(
            "etcd", packages.program("etcd"), "--name", "etcd", "--data-dir", self.daemons.folder_for("etcd") / "data",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"etcd={peer}",
        )  # fmt: skip
        for node in self.nodes:
            text = configuration.patroni(node, etcd=self.etcd, programs=self.programs, passwords=self.passwords)
            self.daemons.write(node.folder / "patroni.yml", text)
            self.start_node(node)
        wait_until(self.is_synchronous)
        leader = self.leader()
        assert leader
        superuser = f"host={HOST} port={leader.port} user=postgres password={self.passwords.postgres} dbname=postgres"
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE kilit LOGIN PASSWORD '{self.passwords.kilit}'")
            connection.execute("CREATE DATABASE kilit OWNER kilit")

    def start_node(self, node: Node) -> None:
        """Start a server's Patroni, which starts PostgreSQL."""
        self.daemons.start(f"patroni-{node.name}", packages.program("patroni"), node.folder / "patroni.yml")

    def kill_node(self, node: Node) -> None:
        """Kill a server's Patroni and PostgreSQL without a warning, as a lost machine does."""
        self.daemons.kill(f"patroni-{node.name}")
        processes = postgres_processes(node)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        wait_for_the_end(*processes)

    def leader(self) -> Node | None:
        """Return the server that leads; none while there is none."""
        return next((node for node in self.nodes if self.ask(node, "GET", "/primary")[0] == 200), None)

    def is_synchronous(self) -> bool:
        """Return whether one server leads and the other follows synchronously."""
        leader = self.leader()
        if not leader:
            return False
        _, text = self.ask(leader, "GET", "/cluster")
        with suppress(ValueError):
            members = json.loads(text).get("members", [])
            states = {member["role"]: member["state"] for member in members}
            return states.get("leader") == "running" and states.get("sync_standby") in ("running", "streaming")
        return False

    def fail_over(self) -> Node:
        """Kill the leader, wait until the other leads, and start the killed one again as its standby."""
        killed = self.leader()
        assert killed
        self.kill_node(killed)
        leader: Node = wait_until(self.leader)
        assert leader is not killed
        self.start_node(killed)
        return leader

    def switch_over(self) -> Node:
        """Ask Patroni to let the standby lead."""
        before = self.leader()
        assert before
        (after,) = (node for node in self.nodes if node is not before)
        asked = {"leader": before.name, "candidate": after.name}
        status, text = self.ask(before, "POST", "/switchover", asked)
        assert status == 200, f"Patroni refused the switchover: {status} {text}"
        wait_until(lambda: self.leader() is after)
        return after

    def ask(self, node: Node, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Return the answer of a server's Patroni; 0 if there is none."""
        login = base64.b64encode(f"patroni:{self.passwords.patroni}".encode()).decode()
        request = urllib.request.Request(
            f"http://{HOST}:{node.api}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {login}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=90 if method == "POST" else 5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError:
            return 0, ""

    def stop(self) -> None:
        """Kill everything; nothing of it is needed any more."""
        for node in self.nodes:
            if f"patroni-{node.name}" in self.daemons.running:
                self.kill_node(node)
        for name in list(self.daemons.running):
            self.daemons.kill(name)


def postgres_processes(node: Node) -> list[psutil.Process]:
    """Return the processes of a server, the first one first; none if it does not run."""
    with suppress(OSError, ValueError, psutil.NoSuchProcess):
        first = psutil.Process(int((node.data / "postmaster.pid").read_text().splitlines()[0]))
        if node.data.samefile(first.cwd()):  # the file of a killed server may name another process by now
            return [first, *first.children(recursive=True)]
    return []
