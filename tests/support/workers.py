"""Real workers on the test database, started and killed by pid."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from urllib.parse import quote, urlencode

import psutil
from django.db import connection

from kilit.workers.models import Heartbeat
from kilit.workers.processes import PARENT, kill_group
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, runs, wait_for_the_end, wait_until


def database_url() -> str:
    """Return the address of the test database, for processes outside this one."""
    params = connection.get_connection_params()
    login = ":".join(quote(str(params[name]), safe="") for name in ("user", "password") if params.get(name))
    place = {name: str(params[name]) for name in ("host", "port") if params.get(name)}
    return f"postgres://{login}@/{params['dbname']}?{urlencode(place, quote_via=quote)}"


def children(process: psutil.Process) -> list[psutil.Process]:
    """Return a process's children that run; it may be gone itself, and a dead child may not be buried yet."""
    with suppress(psutil.NoSuchProcess):
        return [child for child in process.children() if runs(child)]
    return []


class Workers:
    """One `manage.py runworkers` and the processes below it."""

    task_timeout = 30
    settings = "tests.settings"

    def __init__(self) -> None:
        self.groups: set[int] = set()

    def start(self) -> None:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": self.settings,
            "DATABASE_URL": database_url(),
            "KILIT_TASK_TIMEOUT": str(self.task_timeout),
            PARENT: str(os.getpid()),  # a test run that is killed takes them along
        }
        command = [sys.executable, "manage.py", "runworkers"]
        self.popen = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        self.supervisor = psutil.Process(self.popen.pid)
        self.groups.add(self.popen.pid)
        wait_until(lambda: Heartbeat.objects.alive().filter(pid=self.popen.pid).exists())
        self.groups.add(self.cluster.pid)

    @property
    def cluster(self) -> psutil.Process:
        # None is there while the supervisor puts a new one in its place.
        (cluster,) = wait_until(lambda: children(self.supervisor))
        self.groups.add(cluster.pid)
        return cluster

    def titled(self, role: str) -> list[psutil.Process]:
        """Return the cluster's children by what they do: pusher, monitor, idle, processing."""
        titles, found = re.compile(rf"qcluster \S+ {role}\b"), []
        for process in children(self.cluster):
            with suppress(psutil.NoSuchProcess):  # it ended meanwhile, and the cluster starts another
                if titles.match(" ".join(process.cmdline())):
                    found.append(process)
        return found

    def kill(self, *victims: psutil.Process) -> None:
        """Kill them by -9, and wait until none runs."""
        for victim in victims:
            with suppress(psutil.NoSuchProcess):  # the death of the first may have ended it already
                victim.kill()
        wait_for_the_end(*victims)

    def all(self) -> list[psutil.Process]:
        return [self.supervisor, *self.supervisor.children(recursive=True)]

    def running(self) -> list[psutil.Process]:
        """Return every process of every group there ever was."""
        found = []
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) in self.groups and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        return found

    def stop(self) -> None:
        """End gracefully, then make sure."""
        if self.popen.poll() is None:
            self.groups.update(child.pid for child in children(self.supervisor))
            self.popen.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(timeout=PATIENCE)
        for group in self.groups:
            kill_group(group)
        self.popen.wait(timeout=PATIENCE)
