"""The three ways to start OptiPlanning."""

import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.utils.translation import gettext as _

from orchestrator.errors import Code, JobError
from orchestrator.files.folders import Folders
from orchestrator.optiplanning import excel_macro
from orchestrator.optiplanning.program import Ended, run_program
from orchestrator.states import Mode

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
        raise JobError(Code.OPTI_MODE_A_RUNNER_MISSING, f"{command[0]} cannot be started: {ended.not_started}.")
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
        raise JobError(Code.OPTI_MODE_B_MACRO_MISSING, ended.last_line or "Excel cannot run RunOptiPlanning.")
    ended.raise_for_failure()


def command_missing() -> str | None:
    """Return why mode A cannot work on this machine, or None."""
    if not settings.OPTI_COMMAND:
        return _("KILIT_OPTI_COMMAND is not set.")
    command = Folders.from_settings().command
    if not command:
        return _("KILIT_OPTI_COMMAND is not a valid command.")
    if not shutil.which(command[0]):
        return _("KILIT_OPTI_COMMAND: %(program)s is not on this machine.") % {"program": command[0]}
    return None


def is_command_simulated() -> bool:
    return any(Path(word).parts[-3:] == SIMULATOR.parts for word in Folders.from_settings().command)


def is_macro_simulated() -> bool:
    return settings.OPTI_SIMULATED and macro_missing() is not None


def macro_missing() -> str | None:
    """Return why mode B cannot work on this machine, or None."""
    if os.name != "nt":
        return _("Excel macros run on Windows only.")
    if importlib.util.find_spec("win32com") is None:
        return _("pywin32 is not installed: pip install kilit[windows].")
    if not has_excel():
        return _("Excel is not installed on this machine.")
    if not settings.OPTI_MACRO:
        return _("KILIT_OPTI_MACRO is not set.")
    if not Path(settings.OPTI_MACRO).is_file():
        return _("There is no file %(path)s.") % {"path": settings.OPTI_MACRO}
    return None


def has_excel() -> bool:
    """Return whether Excel is registered, without starting it."""
    registry: Any = importlib.import_module("winreg")
    try:
        registry.CloseKey(registry.OpenKey(registry.HKEY_CLASSES_ROOT, "Excel.Application"))
    except OSError:
        return False
    return True
