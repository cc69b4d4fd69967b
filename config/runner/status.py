"""What the runner reaches and what it is doing: for its page and for `kilit-runner check`."""

import importlib.metadata
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.apps import apps
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from config.settings.startup_errors import first_line
from kilit.database.origin import SchemaOrigin, read_origin
from orchestrator.workflow.current_jobs import CurrentJob, current_jobs
from orchestrator.workflow.preflight import CheckLevel, PreflightCheck, preflight_checks

Check = Callable[[], Iterable[PreflightCheck]]

LIMIT = 8.0  # seconds for all checks together; connecting to the database has five
STARTED_AT = timezone.now()
APPS = ("lock", "workers", "orchestrator")  # whose tables the runner uses

_lock = threading.Lock()  # two browsers take turns
_running: dict[str, threading.Thread] = {}


@dataclass(frozen=True)
class Status:
    checks: list[PreflightCheck]
    jobs: list[CurrentJob]
    started_at: datetime = STARTED_AT

    @property
    def is_ready(self) -> bool:
        return all(check.level != CheckLevel.FAIL for check in self.checks)


def version() -> str:
    try:
        return importlib.metadata.version("kilit")
    except importlib.metadata.PackageNotFoundError:
        return _("not installed as a package")


def read_status() -> Status:
    with _lock:
        checks = run_checks({_("database"): check_database, **preflight_checks()})
    return Status(checks, current_jobs())


def run_checks(checks: dict[str, Check], *, limit: float = LIMIT) -> list[PreflightCheck]:
    """Run each check in a thread, and report those that have not answered in time.

    A share or a server that is away can block a call for minutes, and nothing can interrupt it. Such a thread is left
    behind, and the check is not started again before it has ended.
    """
    language = translation.get_language() or "en"
    found: dict[str, list[PreflightCheck]] = {}

    def run(name: str, check: Check) -> None:
        with translation.override(language):
            try:
                found[name] = list(check())
            except Exception as error:  # noqa: BLE001 - a check that fails is the answer
                message = f"{type(error).__name__}: {first_line(error)}"
                found[name] = [PreflightCheck(name, CheckLevel.FAIL, message)]

    end = time.monotonic() + limit
    started = [name for name in checks if name not in _running or not _running[name].is_alive()]
    for name in started:
        _running[name] = threading.Thread(target=run, args=(name, checks[name]), daemon=True, name=f"check {name}")
        _running[name].start()
    for name in started:
        _running[name].join(max(0.0, end - time.monotonic()))
    return [each for name in checks for each in found.get(name) or [no_answer(name, limit)]]


def no_answer(name: str, limit: float) -> PreflightCheck:
    message = _("No answer within %(seconds)s seconds.") % {"seconds": f"{limit:g}"}
    return PreflightCheck(name, CheckLevel.FAIL, message)


def check_database() -> Iterator[PreflightCheck]:
    """Connect, and compare the database's migrations with those of this version."""
    server = connection.settings_dict
    place = {"name": server["NAME"], "host": server["HOST"] or "localhost"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = '5s'")  # the connection is this thread's alone
        origin = read_origin(connection)
    except (DatabaseError, InterfaceError) as error:
        message = _("%(name)s on %(host)s does not answer: %(error)s") % {**place, "error": first_line(error)}
        yield PreflightCheck(_("database"), CheckLevel.FAIL, message)
        return
    finally:
        connection.close()
    yield PreflightCheck(_("database"), CheckLevel.PASS, _("%(name)s on %(host)s answers.") % place)
    yield from compare_versions(origin)


def compare_versions(origin: SchemaOrigin) -> Iterator[PreflightCheck]:
    own = {(label, path.stem) for label in APPS for path in _migrations(label)}
    theirs = {key for key in origin.migrations if key[0] in APPS}
    if theirs - own and not origin.is_newer:
        message = _("The server's tables were made by an unreleased version: set up the server again.")
        yield PreflightCheck(_("version"), CheckLevel.FAIL, message)
    elif missing := sorted(own - theirs):
        message = _("This runner is newer than the server: update the server first. Missing: %(migration)s.")
        yield PreflightCheck(_("version"), CheckLevel.FAIL, message % {"migration": ".".join(missing[0])})
    elif theirs - own:
        message = _("The server is newer than this runner: update the runner.")
        yield PreflightCheck(_("version"), CheckLevel.WARN, message)


def _migrations(label: str) -> Iterable[Path]:
    return Path(apps.get_app_config(label).path, "migrations").glob("[0-9]*.py")
