"""A Kilit that `manage.py up` runs, in a folder and at a port of its own."""

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil

from kilit.postgres.place import home_of
from kilit.postgres.server import Server
from kilit.workers.processes import group_members
from tests.support.commands import ROOT, free_port, fresh_environment
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
        (username, password), *_ = re.findall(rf"{role}\s+(\S+)\s+(\S+)", self.log.read_text())
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
