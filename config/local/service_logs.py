"""The log of `make up` in a terminal: all of it goes to a file, warnings and errors also to the screen, in short."""

import json
import logging
import re
import sys
import threading
import time
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from subprocess import Popen
from typing import IO, Any, TextIO, cast

from config.local.screen import Screen, shorten

LARGEST, KEPT = 10_000_000, 3  # bytes of the file, and how many older ones are kept
REPEATED_AFTER = 60.0  # seconds until the same message is shown again
COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
# As gunicorn writes: [2026-11-17 08:00:00 +0000] [123] [INFO] Listening at …
PLAIN = re.compile(r"\[[^\]]+\] \[\d+\] \[(?P<level>[A-Z]+)\] (?P<message>.*)")


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
        """Do the same with what this process logs."""
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
        if not (is_shown and message and level in COLOURS):
            return
        now = time.monotonic()
        if now - self._shown.get(message, -REPEATED_AFTER) < REPEATED_AFTER:
            return
        self._shown[message] = now
        label = self.screen.paint(level.lower(), COLOURS[level])
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
        record: Any = json.loads(line)
        if isinstance(record, dict):
            last = str(record.get("exc_info") or "").strip().rpartition("\n")[2]
            message = str(record.get("message", ""))
            return str(record.get("level", "INFO")), f"{message} ({last})" if last else message
    if found := PLAIN.fullmatch(line):
        return found["level"], found["message"]
    return "ERROR", line
