"""Runs a program within a time limit and never leaves it running."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import IO

from orchestrator.errors import Code, JobError
from orchestrator.optiplanning import guardian
from orchestrator.schemas.orders import UNSAFE_CHARS

KEEP_ALIVE_EVERY = 1.0  # seconds
TAIL = 2000  # bytes of the program's output that are kept
# Our settings and credentials are not passed on. The program may need the rest: the address of a licence server, and on
# Windows SystemRoot, TEMP, USERPROFILE and more.
PRIVATE = re.compile(
    r"(KILIT_|AWS_|PG|DJANGO_|DATABASE)|.*(SECRET|TOKEN|PASSW|PASSPHRASE|CREDENTIAL|_KEY|_DSN)", re.IGNORECASE
)


@dataclass(frozen=True)
class Ended:
    code: int | None
    not_started: str | None
    output: str  # the end of it

    @property
    def last_line(self) -> str:
        return self.output.rpartition("\n")[2]

    def raise_for_failure(self) -> None:
        if self.code == 0:
            return
        how = self.not_started or ("it was killed" if self.code is None or self.code < 0 else f"exit code {self.code}")
        last = f": {self.last_line}" if self.last_line else "."
        raise JobError(Code.OPTI_RUNNER_FAILED, f"OptiPlanning failed, {how}{last}")


def run_program(command: Sequence[str], *, keep_alive: Callable[[], None], time_limit: timedelta) -> Ended:
    """Run a command under a guardian, in its own process group.

    The whole group is killed when the time is over, when `keep_alive` raises (another runner holds the job), and by
    the guardian when this process dies.
    """
    end = time.monotonic() + time_limit.total_seconds()
    environment = {name: value for name, value in os.environ.items() if not PRIVATE.match(name)}
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [sys.executable, "-I", guardian.__file__, *command],
            stdin=subprocess.PIPE,  # the guardian notices when this process dies and closes it
            stdout=subprocess.PIPE,
            stderr=output,
            env=environment,
            **guardian.own_group(),
        ) as process,
    ):
        try:
            while not _has_ended(process, end):
                keep_alive()
                if time.monotonic() >= end:
                    minutes = time_limit.total_seconds() / 60
                    raise JobError(Code.OPTI_XML_TIMEOUT, f"OptiPlanning did not end within {minutes:.3g} min.")
            report = process.stdout.read() if process.stdout else b""
        except BaseException:
            _kill(process)
            raise
        return _ended(process, report, output)


def _has_ended(process: subprocess.Popen[bytes], end: float) -> bool:
    try:
        process.wait(timeout=max(0.01, min(KEEP_ALIVE_EVERY, end - time.monotonic())))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    guardian.kill_group(process.pid)
    process.wait()


def _ended(process: subprocess.Popen[bytes], report: bytes, output: IO[bytes]) -> Ended:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL))
    lines = output.read().decode(errors="replace").splitlines()
    text = "\n".join(UNSAFE_CHARS.sub("?", line).strip() for line in lines).strip()
    try:
        facts = json.loads(report)
    except ValueError:
        # The guardian was killed, and its program may still run.
        _kill(process)
        facts = {}
    return Ended(code=facts.get("exit"), not_started=facts.get("error"), output=text)
