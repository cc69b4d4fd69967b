"""Runs a program to its end, within its time, and never leaves it behind."""

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
from pathlib import Path
from typing import IO

from orchestrator.errors import Code, JobError
from orchestrator.optiplanning import guardian
from orchestrator.orders.fields import UNSAFE_CHARS

GUARDIAN = Path(guardian.__file__)
KEEP_ALIVE_EVERY = 1.0  # seconds
TAIL = 2000  # bytes of what the program said last
# The program of somebody else has no use for our settings, nor for what else may open a door. The rest it may need: a
# licence server's address, and on Windows SystemRoot, TEMP, USERPROFILE and more than anybody can list.
OURS = re.compile(
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
    """Run a command under a guardian, in a process group of its own.

    The whole group is killed when the time is over, when `keep_alive` raises (the job is not ours any more), and, by
    the guardian, when this process dies.
    """
    end = time.monotonic() + time_limit.total_seconds()
    environment = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-I", str(GUARDIAN), *command],
            stdin=subprocess.PIPE,  # closes with this process, which tells the guardian
            stdout=subprocess.PIPE,
            stderr=output,
            env=environment,
            **guardian.own_group(),
        )
        try:
            while not _has_ended(process, end):
                keep_alive()
                _refuse_late(end, time_limit)
            told = process.stdout.read() if process.stdout else b""
        except BaseException:
            _kill(process)
            raise
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        return _ended(process, told, output)


def _has_ended(process: subprocess.Popen[bytes], end: float) -> bool:
    try:
        process.wait(timeout=max(0.01, min(KEEP_ALIVE_EVERY, end - time.monotonic())))
    except subprocess.TimeoutExpired:
        return False
    return True


def _refuse_late(end: float, time_limit: timedelta) -> None:
    if time.monotonic() >= end:
        minutes = time_limit.total_seconds() / 60
        raise JobError(Code.OPTI_XML_TIMEOUT, f"OptiPlanning did not end within {minutes:.3g} min.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    guardian.kill_group(process.pid)
    process.wait()


def _ended(process: subprocess.Popen[bytes], told: bytes, output: IO[bytes]) -> Ended:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL))
    lines = output.read().decode(errors="replace").splitlines()
    said = "\n".join(UNSAFE_CHARS.sub("?", line).strip() for line in lines).strip()
    try:
        facts = json.loads(told)
    except ValueError:
        # The guardian itself was killed, and its program may still run.
        _kill(process)
        facts = {}
    return Ended(code=facts.get("exit"), not_started=facts.get("error"), output=said)
