"""Looks over what a job will need before one needs it."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.utils.translation import gettext as _

from kilit.files import TEMP_SUFFIX
from orchestrator.errors import JobError
from orchestrator.files.folders import Folders
from orchestrator.optiplanning.adapters import command_missing, macro_missing
from orchestrator.planning.excel import check_template
from orchestrator.planning.rules import current_rules

LITTLE_SPACE = 100 * 1024**2
NO_SPACE = 5 * 1024**2


class Level(StrEnum):
    """How a check came out."""

    PASS = "PASS"  # noqa: S105 - a verdict
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Check:
    name: str
    level: Level
    message: str


def preflight() -> list[Check]:
    """Look at everything, and say of each thing whether jobs can rely on it."""
    folders = Folders.from_settings()
    with suppress(OSError):
        folders.prepare()  # what cannot be made is told below
    return [
        *(check for name, folder in folders.all().items() for check in _folder(name, folder)),
        _template(folders.template),
        *_rules(),
        _mode(_("mode A command"), command_missing(), " ".join(folders.command), mode="A"),
        _mode(_("mode B macro"), macro_missing(), _("Excel and the macro's workbook are here."), mode="B"),
    ]


def _folder(name: str, folder: Path) -> Iterator[Check]:
    title = _("%(name)s folder") % {"name": name}
    if wrong := _not_writable(folder):
        yield Check(title, Level.FAIL, f"{folder}: {wrong}.")
        return
    yield Check(title, Level.PASS, _("%(path)s can be read and written.") % {"path": folder})
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        level = Level.FAIL if free < NO_SPACE else Level.WARN
        told = {"path": folder, "number": f"{free / 1024**2:.0f}"}
        yield Check(_("%(name)s space") % {"name": name}, level, _("%(path)s: %(number)s MB are free.") % told)


def _not_writable(folder: Path) -> str | None:
    """Really list, write, rename and remove: permissions on a network share are known only by trying."""
    probe = folder / f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}"
    moved = probe.with_name(f".kilit-{secrets.token_hex(4)}{TEMP_SUFFIX}")
    try:
        os.listdir(folder)  # noqa: PTH208 - iterdir would try nothing before the first name is asked for
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


def _template(path: Path) -> Check:
    try:
        check_template(path)
    except JobError as fault:
        return Check(_("template"), Level.FAIL, f"{path}: {fault.message}")
    return Check(_("template"), Level.PASS, _("%(path)s has the sheet and its tags.") % {"path": path})


def _rules() -> Iterator[Check]:
    try:
        rules = current_rules()
    except JobError as fault:
        yield Check(_("rules"), Level.FAIL, fault.message)
        return
    if rules.refusal:
        words = _("%(refusal)s This process still works by the last good rules.")
        yield Check(_("rules"), Level.FAIL, words % {"refusal": rules.refusal})
    else:
        yield Check(_("rules"), Level.PASS, _("The rules are read and whole."))
    if rules.default_plate_size is None:
        words = _("No defaultPlateSize: orders that name none will be held.")
        yield Check(_("default plate"), Level.WARN, words)


def _mode(name: str, wrong: str | None, fine: str, *, mode: str) -> Check:
    if wrong is None:
        return Check(name, Level.PASS, fine)
    # A factory uses the modes it uses; only a default that cannot work stops orders.
    try:
        is_default = current_rules().opti_mode_default == mode
    except JobError:
        is_default = False
    words = _("%(wrong)s Orders in mode %(mode)s will fail.") % {"wrong": wrong, "mode": mode}
    return Check(name, Level.FAIL if is_default else Level.WARN, words)
