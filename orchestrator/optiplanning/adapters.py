"""Starts OptiPlanning in one of three ways. A program runs within a time limit, and is never left running."""

import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import IO, Any

import psutil
from django.conf import settings

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.optiplanning import excel_macro, guardian
from orchestrator.schemas.orders import UNSAFE_CHARS
from orchestrator.states import Mode

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
        was_killed = self.code is None or self.code < 0
        how = self.not_started or (sentences.KILLED if was_killed else sentences.EXIT_CODE % {"code": self.code})
        failed = sentences.PROGRAM_SAID if self.last_line else sentences.PROGRAM_ENDED
        raise JobError(Code.OPTI_RUNNER_FAILED, failed % {"how": how, "line": self.last_line})


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
                    raise JobError(Code.OPTI_XML_TIMEOUT, sentences.NOT_ENDED % {"minutes": f"{minutes:.3g}"})
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


SIMULATOR = Path("simulators", "optiplanning", "play.py")  # below the repository; plays OptiPlanning in mode A
RunProgram = Callable[[Sequence[str]], Ended]


def run_optiplanning(
    mode: str,
    files: Sequence[Path],
    *,
    plate: Mapping[str, str],
    keep_alive: Callable[[], None],
    time_limit: timedelta,
) -> None:
    """Run OptiPlanning on the files until it ends; raise JobError if it fails.

    `plate` is the job's `plate_size`, which has no column in the sheets. In mode C there is nothing to run: the
    operator has started it.
    """
    run = partial(run_program, keep_alive=keep_alive, time_limit=time_limit)
    if mode == Mode.A:
        _run_command(files, plate, run)
    elif mode == Mode.B:
        _run_macro(files, plate, run)


def _run_command(files: Sequence[Path], plate: Mapping[str, str], run: RunProgram) -> None:
    if reason := command_missing():
        raise JobError(Code.OPTI_MODE_A_RUNNER_MISSING, reason)
    words = [
        word.replace("{plate_width}", plate["width_mm"]).replace("{plate_height}", plate["height_mm"])
        for word in Folders.from_settings().command
    ]
    command = [*words, *map(str, files)]
    ended = run(command)
    if ended.not_started:
        values = {"command": command[0], "reason": ended.not_started}
        raise JobError(Code.OPTI_MODE_A_RUNNER_MISSING, sentences.NOT_STARTED % values)
    ended.raise_for_failure()


def _run_macro(files: Sequence[Path], plate: Mapping[str, str], run: RunProgram) -> None:
    """Let Excel run the macro RunOptiPlanning for each file, driven from a separate process.

    So a dialog that waits for an answer cannot block the runner.
    """
    if is_macro_simulated():
        return  # the simulator watches the import folder
    if reason := macro_missing():
        raise JobError(Code.OPTI_MODE_B_MACRO_MISSING, reason)
    with tempfile.TemporaryDirectory(prefix="kilit-") as folder:
        excel_pid = Path(folder) / "excel.pid"
        script = [sys.executable, excel_macro.__file__, str(excel_pid), settings.OPTI_MACRO]
        try:
            ended = run([*script, plate["width_mm"], plate["height_mm"], *map(str, files)])
        except BaseException:
            # Windows starts Excel, so it is not in our process group.
            with suppress(OSError, ValueError, psutil.Error):
                psutil.Process(int(excel_pid.read_text())).kill()
            raise
    if ended.code == excel_macro.NO_MACRO:
        raise JobError(Code.OPTI_MODE_B_MACRO_MISSING, ended.last_line or sentences.NO_MACRO)
    ended.raise_for_failure()


def command_missing() -> str:
    if not settings.OPTI_COMMAND:
        return sentences.COMMAND_NOT_SET
    command = Folders.from_settings().command
    if not command:
        return sentences.NO_COMMAND
    if not shutil.which(command[0]):
        return sentences.NO_PROGRAM % {"program": command[0]}
    return ""


def is_command_simulated() -> bool:
    return any(Path(word).parts[-3:] == SIMULATOR.parts for word in Folders.from_settings().command)


def is_macro_simulated() -> bool:
    return settings.OPTI_SIMULATED and bool(macro_missing())


def macro_missing() -> str:
    if os.name != "nt":
        return sentences.ONLY_WINDOWS
    if importlib.util.find_spec("win32com") is None:
        return sentences.NO_PYWIN32
    if not has_excel():
        return sentences.NO_EXCEL
    if not settings.OPTI_MACRO:
        return sentences.MACRO_NOT_SET
    if not Path(settings.OPTI_MACRO).is_file():
        return sentences.NO_FILE % {"path": settings.OPTI_MACRO}
    return ""


def has_excel() -> bool:
    registry: Any = importlib.import_module("winreg")
    try:
        registry.CloseKey(registry.OpenKey(registry.HKEY_CLASSES_ROOT, "Excel.Application"))
    except OSError:
        return False
    return True
