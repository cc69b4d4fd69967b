"""What `make up` shows in a terminal: a line for each step, with its time, and messages between them."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

TICK = 0.2  # seconds between two updates of the line of a running step
TITLE = 36  # columns
LONGEST = 300  # letters of a message; the log file has the whole
CLEAR = "\r\x1b[K"
COLOURS = {"green": "32", "yellow": "33", "red": "31", "dim": "2", "bold": "1"}


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
        """Print a line above that of the running step."""
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
