"""Checks what jobs need on this machine: folders, template, rules, OptiPlanning."""

import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from django.utils import translation
from django.utils.translation import gettext as _

from kilit.files import TEMP_SUFFIX
from kilit.sentences import translated
from orchestrator import sentences
from orchestrator.cutting.places import places
from orchestrator.cutting.solving import missing
from orchestrator.errors import JobError
from orchestrator.folders import Folders
from orchestrator.job_links import unreachable_labels
from orchestrator.optiplanning.adapters import command_missing, is_command_simulated, is_macro_simulated, macro_missing
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.rules import current_rules, rules_error, valid_rules
from orchestrator.planning.saws import without_folder
from orchestrator.states import Mode

LITTLE_SPACE = 100 * 1024**2
NO_SPACE = 5 * 1024**2
LIMIT = 8.0  # seconds for all checks together; a runner that connects to the database has five


class CheckLevel(StrEnum):
    PASS = "PASS"  # noqa: S105 - not a password
    WARN = "WARN"
    FAIL = "FAIL"
    SIMULATED = "SIMULATED"


@dataclass(frozen=True)
class PreflightCheck:
    name: str
    level: CheckLevel
    message: str


Check = Callable[[], Iterable[PreflightCheck]]
_turn = threading.Lock()  # two readers take turns
_running: dict[str, threading.Thread] = {}  # by the English name


def preflight() -> list[PreflightCheck]:
    return run_checks(preflight_checks)


def run_checks(named_checks: Callable[[], dict[str, Check]], *, limit: float = LIMIT) -> list[PreflightCheck]:
    """Run each check in a thread, and report those that have not answered in time.

    A share or a server that is away can block a call for minutes, and nothing can interrupt it. Such a thread is left
    behind, and this process does not start the check again before it has ended, in whatever language it is asked for.
    """
    language = translation.get_language() or "en"
    results: dict[str, list[PreflightCheck]] = {}
    with translation.override("en"):
        keys = list(named_checks())

    def run(name: str, check: Check) -> None:
        with translation.override(language):
            try:
                results[name] = list(check())
            except Exception as error:  # noqa: BLE001 - a check that fails is the answer
                message = f"{type(error).__name__}: {error}".partition("\n")[0].strip()
                results[name] = [PreflightCheck(name, CheckLevel.FAIL, message)]

    with _turn:
        end = time.monotonic() + limit
        checks, started = named_checks(), []
        for key, (name, check) in zip(keys, checks.items(), strict=True):
            if key not in _running or not _running[key].is_alive():
                _running[key] = threading.Thread(target=run, args=(name, check), daemon=True, name=f"check {key}")
                _running[key].start()
                started.append(_running[key])
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))
    message = _("No answer within %(seconds)s seconds.") % {"seconds": f"{limit:g}"}
    return [
        result for name in checks for result in results.get(name) or [PreflightCheck(name, CheckLevel.FAIL, message)]
    ]


def preflight_checks() -> dict[str, Check]:
    """Return the checks by name."""
    folders = Folders.from_settings()
    in_folders = {
        _("%(name)s folder") % {"name": name}: partial(_folder, name, folder, folders)
        for name, folder in folders.all().items()
    }
    return {
        **in_folders,
        _("template"): partial(_template, folders.template),
        _("rules"): _rules,
        _("mode A command"): partial(_command, folders),
        _("mode B macro"): _macro,
        **({_("optimiser"): _optimiser} if has_mode_d() else {}),
    }


def has_mode_d() -> bool:
    rules = valid_rules()
    return rules is not None and rules.opti_mode_default == Mode.D


def _optimiser() -> Iterator[PreflightCheck]:
    fine = _("The built-in optimiser is installed. Plans at once: %(number)s.") % {"number": places()}
    yield _mode("D", _("optimiser"), "", translated(missing()), fine)


def _folder(name: str, folder: Path, folders: Folders) -> Iterator[PreflightCheck]:
    title = _("%(name)s folder") % {"name": name}
    with suppress(OSError):
        folders.prepare()  # a folder that cannot be created is reported below
    if reason := _not_writable(folder):
        yield PreflightCheck(title, CheckLevel.FAIL, f"{folder}: {reason}.")
        return
    yield PreflightCheck(title, CheckLevel.PASS, _("%(path)s can be read and written.") % {"path": folder})
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        level = CheckLevel.FAIL if free < NO_SPACE else CheckLevel.WARN
        message = _("%(path)s: %(number)s MB free.") % {"path": folder, "number": f"{free / 1024**2:.0f}"}
        yield PreflightCheck(_("%(name)s space") % {"name": name}, level, message)


def _not_writable(folder: Path) -> str | None:
    """List, write, rename and remove for real: permissions on a network share are known only by trying."""
    probe = folder / f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}"
    moved = probe.with_name(f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}")
    try:
        os.listdir(folder)  # noqa: PTH208 - iterdir is lazy
        with probe.open("xb") as file:
            file.write(b"kilit")
            file.flush()
            os.fsync(file.fileno())
        probe.rename(moved)
        moved.unlink()
    except OSError as error:
        for leftover in (probe, moved):
            with suppress(OSError):
                leftover.unlink()
        return error.strerror or type(error).__name__
    return None


def _template(path: Path) -> Iterator[PreflightCheck]:
    try:
        check_template(path)
    except JobError as error:
        yield PreflightCheck(_("template"), CheckLevel.FAIL, f"{path}: {translated(error.message)}")
    else:
        message = _("%(path)s has the sheet and its tags.") % {"path": path}
        yield PreflightCheck(_("template"), CheckLevel.PASS, message)


def _rules() -> Iterator[PreflightCheck]:
    try:
        rules = current_rules()
    except JobError as error:
        yield PreflightCheck(_("rules"), CheckLevel.FAIL, translated(error.message))
        return
    if invalid := rules_error():
        message = _("%(error)s This process still uses the last valid rules.")
        yield PreflightCheck(_("rules"), CheckLevel.FAIL, message % {"error": invalid})
    else:
        yield PreflightCheck(_("rules"), CheckLevel.PASS, _("The rules are valid."))
    for name in without_folder(rules):
        message = sentences.SAW_WITHOUT_FOLDER % {"saw": name}
        yield PreflightCheck(_("saws"), CheckLevel.FAIL, translated(message))
    if labels := unreachable_labels(rules):
        yield PreflightCheck(_("labels"), CheckLevel.WARN, labels)
    if rules.default_plate_size is None:
        message = _("No defaultPlateSize: orders without a plate size will be held.")
        yield PreflightCheck(_("default plate"), CheckLevel.WARN, message)


def _command(folders: Folders) -> Iterator[PreflightCheck]:
    simulated = _("The simulator takes the place of OptiPlanning: orders in mode A work, but are not optimized.")
    fine, problem = " ".join(folders.command), translated(command_missing())
    yield _mode("A", _("mode A command"), simulated if is_command_simulated() else "", problem, fine)


def _macro() -> Iterator[PreflightCheck]:
    simulated = _("The simulator takes the place of Excel and its macro: orders in mode B work, but are not optimized.")
    fine, problem = _("Excel and the macro's workbook are installed."), translated(macro_missing())
    yield _mode("B", _("mode B macro"), simulated if is_macro_simulated() else "", problem, fine)


def _mode(mode: str, name: str, simulated: str, problem: str, fine: str) -> PreflightCheck:
    if simulated:
        return PreflightCheck(name, CheckLevel.SIMULATED, simulated)
    if not problem:
        return PreflightCheck(name, CheckLevel.PASS, fine)
    # A factory need not use every mode; only a default mode that cannot work stops orders.
    rules = valid_rules()
    is_default = rules is not None and rules.opti_mode_default == mode
    message = _("%(problem)s Orders in mode %(mode)s will fail.") % {"problem": problem, "mode": mode}
    return PreflightCheck(name, CheckLevel.FAIL if is_default else CheckLevel.WARN, message)
