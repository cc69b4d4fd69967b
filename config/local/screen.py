"""What `make up` shows in a terminal: a line for each step, with its time, and the services' warnings between them.

The whole log goes to a file.
"""

import json
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path
from subprocess import Popen
from typing import IO, TextIO, cast

TICK = 0.2  # seconds between two updates of the line of a running step
TITLE = 36  # columns
LONGEST = 300  # letters of a message; the log file has the whole
CLEAR = "\r\x1b[K"
COLOURS = {"green": "32", "yellow": "33", "red": "31", "dim": "2", "bold": "1"}
LARGEST, KEPT = 10_000_000, 3  # bytes of the file, and how many older ones are kept
REPEATED_AFTER = 60.0  # seconds until the same message is shown again
LEVEL_COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
# As gunicorn writes: [2026-11-17 08:00:00 +0000] [123] [INFO] Listening at …
PLAIN = re.compile(r"\[[^\]]+\] \[\d+\] \[(?P<level>[A-Z]+)\] (?P<message>.*)")


@dataclass
class Step:
    title: str
    started: float = field(default_factory=time.monotonic)
    progress: str = ""  # what is shown beside the title while it runs, and what remains of it

    @property
    def seconds(self) -> str:
        return f"{time.monotonic() - self.started:.1f} s"


class Screen:
    """Prints lines; in a real terminal, the line of a running step is updated in place."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.updates = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.has_colours = self.updates and not os.environ.get("NO_COLOR")
        self._running: Step | None = None
        self._lock = threading.RLock()  # services' warnings arrive in other threads

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.has_colours else text

    def line(self, text: str = "") -> None:
        """Print a line above the running step."""
        with self._lock:
            self.out.write(f"{CLEAR if self.updates else ''}{text}\n")
            self._draw()
            self.out.flush()

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        step, ended = Step(title), threading.Event()
        with self._lock:
            self._running = step
            self._draw()
        if self.updates:
            threading.Thread(target=self._tick, args=(ended,), daemon=True).start()
        done = False
        try:
            yield step
            done = True
        finally:
            ended.set()
            with self._lock:
                self._running = None
                mark = self.paint("✓", "green") if done else self.paint("✗", "red")
                self.line(
                    f"  {mark} {title:<{TITLE}}{self.paint(f'{step.seconds:>8}', 'dim')}  {step.progress}".rstrip()
                )

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(TICK):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if self.updates and (step := self._running):
            text = f"  … {step.title:<{TITLE}}{step.seconds:>8}  {step.progress}".rstrip()
            # A line that wraps could not be overwritten.
            self.out.write(CLEAR + text[: shutil.get_terminal_size().columns - 1])
            self.out.flush()


def shorten(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= LONGEST else f"{joined[: LONGEST - 1]}…"


class ServiceLogs:
    def __init__(self, file: Path, screen: Screen) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file, self.screen = file, screen
        self._handler = RotatingFileHandler(file, maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8")
        self._shown: dict[str, float] = {}
        self._readers: list[threading.Thread] = []

    def follow(self, name: str, service: Popen[bytes]) -> None:
        """Read what a service writes, until it and its children have ended."""
        for pipe, is_shown in ((service.stdout, False), (service.stderr, True)):
            if pipe:
                reader = threading.Thread(target=self._read, args=(name, pipe), kwargs={"is_shown": is_shown})
                reader.daemon = True
                reader.start()
                self._readers.append(reader)

    def take_over(self) -> None:
        for logger in (logging.getLogger(), logging.getLogger("django-q")):
            for handler in logger.handlers:
                if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                    handler.setStream(cast("TextIO", _Stream(self)))

    def close(self) -> None:
        for reader in self._readers:
            reader.join(timeout=2)
        self._handler.close()

    def take(self, name: str, line: str, *, is_shown: bool) -> None:
        self._handler.handle(logging.makeLogRecord({"msg": line}))
        level, message = read_line(line)
        if not (is_shown and message and level in LEVEL_COLOURS):
            return
        now = time.monotonic()
        if now - self._shown.get(message, -REPEATED_AFTER) < REPEATED_AFTER:
            return
        self._shown[message] = now
        label = self.screen.paint(level.lower(), LEVEL_COLOURS[level])
        self.screen.line(f"{time.strftime('%H:%M:%S')} {name} {label}: {shorten(message)}")

    def _read(self, name: str, pipe: IO[bytes], *, is_shown: bool) -> None:
        with pipe:
            for line in pipe:
                self.take(name, line.decode(errors="replace").rstrip(), is_shown=is_shown)


class _Stream:
    def __init__(self, logs: ServiceLogs) -> None:
        self._logs = logs

    def write(self, text: str) -> None:
        for line in text.splitlines():
            self._logs.take("up", line, is_shown=True)

    def flush(self) -> None: ...


def read_line(line: str) -> tuple[str, str]:
    """Return the level and message of a line; what is in no known format is probably a traceback."""
    with suppress(ValueError):
        record: object = json.loads(line)
        if isinstance(record, dict):
            last = str(record.get("exc_info") or "").strip().rpartition("\n")[2]
            message = str(record.get("message", ""))
            return str(record.get("level", "INFO")), f"{message} ({last})" if last else message
    if match := PLAIN.fullmatch(line):
        return match["level"], match["message"]
    return "ERROR", line
