"""Runs the Procfile: starts every line, and stops all when one ends or a signal arrives; nothing is left running."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType

from config.local.screen import ServiceLogs
from kilit.workers.processes import PARENT, kill_family, start_group

GRACE = 15.0  # seconds for services to stop before they are killed
LOOK_EVERY = 1.0  # seconds between two looks whether a service has ended


class Stack:
    def __init__(self, folder: Path, *, lock: Path) -> None:
        self.folder, self.lock = folder, lock
        self.extra: dict[str, str] = {}  # services that are not in the Procfile
        self.environment: dict[str, str] = {}
        self.secrets: dict[str, dict[str, str]] = {}  # variables that only one service needs, by its name
        self.services: dict[str, subprocess.Popen[bytes]] = {}
        self.stopped_by: int | None = None
        self.logs: ServiceLogs | None = None  # in a terminal; otherwise services write to our own stdout and stderr
        self.signalled = threading.Event()

    def run(self) -> int:
        """Run until a signal or until a service ends; return an exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        try:
            self._start()
            while self.stopped_by is None and not self._ended():
                self.signalled.wait(LOOK_EVERY)
            if self.stopped_by is None:
                sys.stderr.write(f"kilit: {', '.join(self._ended())} exited; stopping everything.\n")
            return 0 if self.stopped_by else 1
        finally:
            with self.logs.screen.step("Stopping") if self.logs else nullcontext():
                self._stop()

    def _start(self) -> None:
        # Each service watches this process and ends with it, even if it is killed (kilit.workers.processes).
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        environment = {**os.environ, **self.environment, "PATH": path, PARENT: str(os.getpid())}
        for name, command in self._commands():
            service = start_group(
                shlex.split(command),
                environment={**environment, **self.secrets.get(name, {})},
                folder=self.folder,
                is_piped=self.logs is not None,
            )
            self.services[name] = service
            if self.logs:
                self.logs.follow(name, service)

    def names(self) -> list[str]:
        return [name for name, _command in self._commands()]

    def _commands(self) -> list[tuple[str, str]]:
        return [*procfile(self.folder), *self.extra.items()]

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
        # With their children: the last process to leave stops the embedded PostgreSQL, and that must be this one.
        kill_family(*(service.pid for service in self.services.values()))
        for service in self.services.values():
            service.wait()

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        self.stopped_by = number
        self.signalled.set()

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the lock of this installation during the block; yields False if another process holds it."""
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

    def stop_other(self, *, wait: float = GRACE + 15) -> bool:
        """Stop the process that holds the lock, if any; while it does, the pid in the file is its own."""
        end = time.monotonic() + wait
        signalled = False
        while True:
            with self.locked() as free:
                if free:
                    return signalled
            if not signalled:
                os.kill(int(self.lock.read_text()), signal.SIGTERM)
                signalled = True
            elif time.monotonic() > end:
                # Its services notice that it is gone, and end themselves.
                with suppress(ProcessLookupError):
                    os.kill(int(self.lock.read_text()), signal.SIGKILL)
            time.sleep(0.1)


def procfile(folder: Path) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in (folder / "Procfile").read_text().splitlines() if line.strip()]
    return [(name.strip(), command.strip()) for name, _, command in lines]
