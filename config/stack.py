"""Runs the Procfile: starts every line, ends all when one ends or somebody says stop, and leaves nothing running."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from kilit.workers.processes import PARENT, kill_family, start_group

GRACE = 15.0  # seconds for services to end by themselves


class Stack:
    """The services of one installation, under this process."""

    def __init__(self, folder: Path, *, lock: Path) -> None:
        self.folder, self.lock = folder, lock
        self.beside: dict[str, str] = {}  # services that are not in the Procfile
        self.environment: dict[str, str] = {}
        self.services: dict[str, subprocess.Popen[bytes]] = {}
        self.stopped_by: int | None = None

    def run(self) -> int:
        """Run until a signal or until a service ends; return an exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        try:
            self._start()
            while self.stopped_by is None and not self._ended():
                time.sleep(0.2)
            if self.stopped_by is None:
                sys.stderr.write(f"kilit: {', '.join(self._ended())} ended, so everything is stopped.\n")
            return 0 if self.stopped_by else 1
        finally:
            self._stop()

    def _start(self) -> None:
        # Each service watches this process and ends with it, even when it is killed (kilit.workers.processes).
        beside_python = str(Path(sys.executable).parent)
        path = os.pathsep.join((beside_python, os.environ.get("PATH", os.defpath)))
        environment = {**os.environ, **self.environment, "PATH": path, PARENT: str(os.getpid())}
        for name, command in [*procfile(self.folder), *self.beside.items()]:
            self.services[name] = start_group(shlex.split(command), environment=environment, folder=self.folder)

    def _ended(self) -> list[str]:
        return [name for name, service in self.services.items() if service.poll() is not None]

    def _stop(self) -> None:
        for service in self.services.values():
            with suppress(ProcessLookupError):
                service.terminate()
        end = time.monotonic() + GRACE
        for service in self.services.values():
            with suppress(subprocess.TimeoutExpired):
                service.wait(timeout=max(0.1, end - time.monotonic()))
            # With all below it: the embedded PostgreSQL is stopped by who leaves it last, which a process that is
            # killed cannot do. So nobody may be left when this one leaves.
            kill_family(service.pid)
            service.wait()

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        self.stopped_by = number

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Say for as long as the block runs that this installation is up; false when it is up already."""
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        with self.lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield True

    def stop_other(self, *, wait: float = GRACE + 45) -> bool:
        """End the process that holds this installation, if any; the pid in the file is true while the lock is held."""
        end = time.monotonic() + wait
        asked = False
        while time.monotonic() < end:
            with self.held() as free:
                if free:
                    return asked
            if not asked:
                os.kill(int(self.lock.read_text()), signal.SIGTERM)
                asked = True
            time.sleep(0.1)
        raise TimeoutError(f"process {self.lock.read_text()} did not stop within {wait:.0f} s")


def procfile(folder: Path) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in (folder / "Procfile").read_text().splitlines() if line.strip()]
    return [(name.strip(), command.strip()) for name, _, command in lines]
