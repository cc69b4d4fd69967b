"""Health endpoints. Plain Django views, because they must respond when nothing else works."""

from collections.abc import Callable
from functools import wraps
from typing import Literal

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from typing_extensions import TypedDict

import kilit
from kilit.api.errors import error_body
from kilit.api.openapi import ApiEndpoint, ApiResponse
from kilit.database.origin import UnreleasedVersion, refuse_unreleased
from kilit.database.sql import read_row
from kilit.lock.outages import ReadOnlyDatabase, was_disk_full
from kilit.postgres.external.connection import COMMITS_WAIT
from kilit.workers.models import Heartbeat

READ_ONLY_CHECK = "read-only: nothing can be stored"
NO_SPACE_CHECK = "no space left on its disk"
STANDBY_CHECK = "commits are waiting for a synchronous standby"

View = Callable[[HttpRequest], HttpResponse]


class Health(TypedDict):
    status: Literal["ok"]


class Checks(TypedDict):
    """Each is `ok` or says what is wrong."""

    database: str
    migrations: str
    workers: str


class Readiness(TypedDict):
    """Whether requests can be served and jobs processed."""

    status: Literal["ok", "not ready"]
    checks: Checks
    version: str
    build: str


HEALTH = ApiEndpoint({200: ApiResponse("The process is running.", Health)})
NOT_READY = ApiResponse("Not ready; `checks` says why.", Readiness)
READINESS = ApiEndpoint({200: ApiResponse("Ready.", Readiness), 503: NOT_READY})
METRICS = ApiEndpoint(
    {200: ApiResponse("Metrics in Prometheus' text format.", media={"text/plain": {"type": "string"}})},
    {
        401: {"UNAUTHENTICATED": "`KILIT_METRICS_TOKEN` is set and was not sent."},
        403: {"FORBIDDEN": "The client's address is not in `KILIT_METRICS_ALLOW`, or in production neither is set."},
        503: {"UNAVAILABLE": "The database is not responding, or the metrics are being computed."},
    },
)
PROBES: dict[str, tuple[str, list[dict[str, list[str]]], ApiEndpoint]] = {
    "/healthz": ("Liveness: is the process running?", [], HEALTH),
    "/readyz": ("Readiness: can it serve requests and process jobs?", [], READINESS),
    "/metrics": ("Prometheus metrics", [{}, {"metricsToken": []}], METRICS),
}


def probe(view: View) -> View:
    """Allow GET and HEAD only, uncached."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request)
        message = f'Method "{request.method}" not allowed.'
        return JsonResponse(error_body("METHOD_NOT_ALLOWED", message), status=405, headers={"Allow": "GET, HEAD"})

    return never_cache(wrapped)


@probe
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


@probe
def readyz(request: HttpRequest) -> HttpResponse:
    checks = {"database": "not checked", "migrations": "not checked", "workers": "not checked"}
    try:
        checks["database"] = database_check()
        checks["migrations"] = "ok" if is_migrated() else "some are missing: run manage.py migrate"
        if checks["migrations"] == "ok":
            checks["workers"] = "ok" if Heartbeat.objects.alive().exists() else "none running: run manage.py runworkers"
    except UnreleasedVersion as error:
        checks["migrations"] = str(error)
    except ReadOnlyDatabase:
        checks["database"] = READ_ONLY_CHECK
    except (DatabaseError, InterfaceError):
        checks["database"] = "not responding"
    ready = set(checks.values()) == {"ok"}
    status = {"status": "ok" if ready else "not ready", "checks": checks}
    version = {"version": kilit.__version__, "build": settings.BUILD}
    return JsonResponse({**status, **version}, status=200 if ready else 503)


def database_check() -> str:
    if was_disk_full():
        return NO_SPACE_CHECK
    return READ_ONLY_CHECK if is_read_only() else STANDBY_CHECK if read_row(COMMITS_WAIT)[0] else "ok"


def is_read_only() -> bool:
    """Ask the server: a standby, an old primary, or one that an administrator made read-only."""
    (answer,) = read_row("SHOW transaction_read_only")
    if answer == "on":
        connection.close()  # the next connection may find the new primary
    return bool(answer == "on")


_known_migrated = False


def is_migrated() -> bool:
    """Check that every migration is applied; once true, this process does not check again."""
    global _known_migrated
    if not _known_migrated:
        refuse_unreleased(connection)
        executor = MigrationExecutor(connection)
        _known_migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _known_migrated
