"""Runs the Procfile: starts every line, and again what ends; a signal stops all, and nothing is left running."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from config.local.screen import ServiceLogs
from kilit.workers.processes import PARENT, kill_family, kill_group, start_group

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 15.0  # seconds for services to stop before they are killed
LOOK_EVERY = 1.0  # seconds between two looks whether a service has ended
# A service that ends starts again after a second, then after twice as long each time, until it has run for a while.
FIRST_PAUSE, LONGEST_PAUSE, STEADY_AFTER = 1.0, 60.0, 60.0  # seconds
# Without the web nothing can be seen: if it ends this often in a row, as with a wrong setting, everything stops.
NEEDED, MOST_ENDS = "web", 5


@dataclass
class Service:
    name: str
    command: str
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float = 0.0  # when it is started again
    ends: int = 0  # in a row

    def note_end(self) -> float:
        """Return the seconds until it is started again."""
        now = time.monotonic()
        self.ends = 1 if now - self.started_at > STEADY_AFTER else self.ends + 1
        pause = min(FIRST_PAUSE * 2.0 ** (self.ends - 1), LONGEST_PAUSE)
        self.process, self.due_at = None, now + pause
        return pause


class Stack:
    def __init__(self, folder: Path, *, lock: Path) -> None:
        self.folder, self.lock = folder, lock
        self.extra: dict[str, str] = {}  # services that are not in the Procfile
        self.left_out: list[str] = []  # services of the Procfile
        self.environment: dict[str, str] = {}
        self.own_variables: dict[str, dict[str, str]] = {}  # such as secrets, by the service that gets them
        self.services: dict[str, Service] = {}
        self.stopped_by: int | None = None
        self.logs: ServiceLogs | None = None  # in a terminal; otherwise services write to our own stdout and stderr
        self.signalled = threading.Event()
        self.lock_descriptor = -1

    def run(self) -> int:
        """Run until a signal, or until the web cannot be kept running; return an exit code."""
        for number in STOPS:
            signal.signal(number, self._note_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)  # blocked while `manage.py up` becomes this process
        try:
            self._start()
            while self.stopped_by is None and self._tend():
                self.signalled.wait(LOOK_EVERY)
            return 0 if self.stopped_by else 1
        finally:
            with self.logs.screen.step("Stopping") if self.logs else nullcontext():
                self._stop()

    def _start(self) -> None:
        for name, command in self._commands():
            self.services[name] = service = Service(name, command)
            self._launch(service)

    def _launch(self, service: Service) -> None:
        # Each service watches this process and ends with it, even if it is killed (kilit.workers.processes).
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        own = {"PATH": path, PARENT: str(os.getpid()), **self.own_variables.get(service.name, {})}
        service.started_at = time.monotonic()
        service.process = start_group(
            shlex.split(service.command),
            environment={**os.environ, **self.environment, **own},
            folder=self.folder,
            is_piped=self.logs is not None,
        )
        if self.logs:
            self.logs.follow(service.name, service.process)

    def _tend(self) -> bool:
        """Start again what has ended; return whether everything can go on."""
        for service in self.services.values():
            if service.process is None:
                if time.monotonic() >= service.due_at:
                    self._launch(service)
            elif (code := service.process.poll()) is not None:
                kill_group(service.process.pid)  # what it started may have its port
                pause = service.note_end()
                if service.name == NEEDED and service.ends >= MOST_ENDS:
                    self._say(f"{service.name} ended {MOST_ENDS} times soon after its start; stopping everything.")
                    return False
                self._say(f"{service.name} ended ({describe_end(code)}); it is started again in {pause:.0f} s.")
        return True

    def _say(self, message: str) -> None:
        if self.logs:
            self.logs.take("up", message, is_shown=True)
        else:
            sys.stderr.write(f"kilit: {message}\n")
            sys.stderr.flush()

    def names(self) -> list[str]:
        return [name for name, _command in self._commands()]

    def _commands(self) -> list[tuple[str, str]]:
        own = [(name, command) for name, command in procfile(self.folder) if name not in self.left_out]
        return [*own, *self.extra.items()]

    def _stop(self) -> None:
        running = [service.process for service in self.services.values() if service.process]
        for process in running:
            with suppress(ProcessLookupError):
                process.terminate()
        end = time.monotonic() + GRACE
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.1, end - time.monotonic()))
        # With their children: the last process to leave stops the embedded PostgreSQL, and that must be this one.
        kill_family(*(process.pid for process in running))
        for process in running:
            process.wait()

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
            self.lock_descriptor = file.fileno()
            yield True

    def hand_over(self, **plan: object) -> NoReturn:
        """Become a small process that runs the services: it has the same pid and the lock, but not Django's memory."""
        reader, writer = os.pipe()
        services = {name: getattr(self, name) for name in ("extra", "left_out", "environment", "own_variables")}
        os.write(writer, json.dumps({"services": services, "lock": str(self.lock), **plan}).encode())
        os.close(writer)
        for descriptor in (reader, self.lock_descriptor):
            fcntl.fcntl(descriptor, fcntl.F_SETFD, 0)  # stays open in the new program
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        os.chdir(self.folder)
        os.execv(sys.executable, [sys.executable, "-m", "config.local.up", str(reader)])  # noqa: S606 - our own

    def stop_other(self, *, wait: float = GRACE + 15) -> bool:
        """Stop the process that holds the lock, if any; while it does, the pid in the file is its own."""
        end = time.monotonic() + wait
        signalled = False
        while True:
            with self.locked() as free:
                if free:
                    return signalled
            is_late = time.monotonic() > end
            if not signalled or is_late:
                # It may have the lock and not have written its pid yet, or have ended just now. When it is killed, its
                # services notice that it is gone, and end themselves.
                try:
                    os.kill(int(self.lock.read_text()), signal.SIGKILL if signalled else signal.SIGTERM)
                    signalled = True
                except (ValueError, ProcessLookupError):
                    if is_late:
                        sys.exit(f"kilit: {self.lock} is locked, and names no process that runs.")
            time.sleep(0.1)


def describe_end(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def procfile(folder: Path) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in (folder / "Procfile").read_text().splitlines() if line.strip()]
    return [(name.strip(), command.strip()) for name, _, command in lines]
