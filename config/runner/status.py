"""What the runner reaches and what it is doing: for `kilit-runner check`, and for its page on this PC.

The page answers GET requests from a browser on the same machine only.
"""

import importlib.metadata
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.template import Context, Engine
from django.utils import translation
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation.trans_real import parse_accept_lang_header

from config.settings.startup_errors import first_line
from kilit.database.origin import SchemaOrigin, read_origin
from kilit.spans import format_span
from orchestrator.workflow.preflight import CheckLevel, PreflightCheck, preflight_checks, run_checks
from orchestrator.workflow.runner import CurrentJob, current_jobs

STARTED_AT = now()
APPS = ("lock", "workers", "orchestrator")  # whose tables the runner uses

logger = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
HERE = Path(__file__).parent
TEMPLATES = Engine(dirs=[str(HERE)], builtins=["django.templatetags.i18n"])
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Status:
    checks: list[PreflightCheck]
    jobs: list[CurrentJob]

    @property
    def is_ready(self) -> bool:
        return all(check.level != CheckLevel.FAIL for check in self.checks)


def version() -> str:
    try:
        return importlib.metadata.version("kilit")
    except importlib.metadata.PackageNotFoundError:
        return _("not installed as a package")


def read_status() -> Status:
    checks = run_checks(lambda: {_("database"): check_database, **preflight_checks()})
    return Status(checks, current_jobs())


def check_database() -> Iterator[PreflightCheck]:
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
    applied = {key for key in origin.migrations if key[0] in APPS}
    if applied - own and not origin.is_newer:
        message = _("The server's tables were made by an unreleased version: set up the server again.")
        yield PreflightCheck(_("version"), CheckLevel.FAIL, message)
    elif missing := sorted(own - applied):
        message = _("This runner is newer than the server: update the server first. Missing: %(migration)s.")
        yield PreflightCheck(_("version"), CheckLevel.FAIL, message % {"migration": ".".join(missing[0])})
    elif applied - own:
        message = _("The server is newer than this runner: update the runner.")
        yield PreflightCheck(_("version"), CheckLevel.WARN, message)


def _migrations(label: str) -> Iterable[Path]:
    return Path(apps.get_app_config(label).path, "migrations").glob("[0-9]*.py")


class StatusServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # there it would share the port with another program

    def __init__(self, port: int, *, log: Path) -> None:
        super().__init__((ADDRESS, port), StatusHandler)
        self.log = log

    def handle_error(self, request: object, client_address: object) -> None:
        logger.warning("the status page could not be shown", exc_info=sys.exception())


class StatusHandler(BaseHTTPRequestHandler):
    server: StatusServer
    server_version, sys_version = "kilit-runner", ""
    timeout = 10  # seconds for a browser to send its request

    def do_GET(self) -> None:
        if not self.is_addressed_here():
            self.send(HTTPStatus.FORBIDDEN, "text/plain", b"Open http://127.0.0.1 on this PC.\n")
        elif self.path == "/":
            self.send(HTTPStatus.OK, "text/html", render(self.language(), log=self.server.log).encode())
        elif self.path == "/status.css":
            self.send(HTTPStatus.OK, "text/css", (HERE / "status.css").read_bytes())
        else:
            self.send(HTTPStatus.NOT_FOUND, "text/plain", b"Not found.\n")

    def is_addressed_here(self) -> bool:
        """Refuse other names: a website could make its own name point to this machine, and read the page."""
        port = self.server.server_port
        return self.headers.get("Host", "") in {f"{ADDRESS}:{port}", f"localhost:{port}"}

    def language(self) -> str:
        languages = dict(settings.LANGUAGES)
        wanted = parse_accept_lang_header(self.headers.get("Accept-Language", ""))
        return next((code for tag, _ in wanted if (code := tag.partition("-")[0]) in languages), "en")

    def send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Log nothing: the page loads itself again every few seconds."""


def render(language: str, *, log: Path) -> str:
    with translation.override(language):
        status = read_status()
        context = {
            "status": status,
            "jobs": [(current.job, format_span(now() - current.since)) for current in status.jobs],
            "running_for": format_span(now() - STARTED_AT, units=2),
            "failed": [check for check in status.checks if check.level == CheckLevel.FAIL],
            "version": version(),
            "host": socket.gethostname(),
            "log": log,
            "language": language,
        }
        return TEMPLATES.get_template("status.html").render(Context(context))


@contextmanager
def status_page(port: int, *, log: Path) -> Iterator[None]:
    """Serve the page during the block. Jobs do not depend on it: a port that is taken is only logged."""
    server = None
    try:
        server = StatusServer(port, log=log) if port else None
    except OSError as error:
        logger.warning("no status page: port %s of this PC cannot be used (%s)", port, error.strerror)
    if server is None:
        yield
        return
    thread = threading.Thread(target=server.serve_forever, daemon=True, name="status-page")
    thread.start()
    logger.info("status page: http://%s:%s/", ADDRESS, port)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
