"""Probes for machines: is the process up, is the product ready, and what do the queues hold."""

import secrets
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from kilit.api.errors import NO_DATABASE, error_body
from kilit.workers.metrics import registry
from kilit.workers.models import Heartbeat

View = Callable[[HttpRequest], HttpResponse]


def probe(view: View) -> View:
    """Let a view be asked, and nothing else; what it answers is true at that moment only."""

    @wraps(view)
    def asked(request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request)
        words = f'Method "{request.method}" not allowed.'
        return JsonResponse(error_body("METHOD_NOT_ALLOWED", words), status=405, headers={"Allow": "GET, HEAD"})

    return never_cache(asked)


@probe
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


@probe
def readyz(request: HttpRequest) -> HttpResponse:
    """Tell whether the database answers, is migrated, and somebody works; 503 with the reason otherwise."""
    checks = {"database": "not asked", "migrations": "not asked", "workers": "not asked"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        checks["database"] = "ok"
        checks["migrations"] = "ok" if migrated() else "some are missing: run manage.py migrate"
        if checks["migrations"] == "ok":
            checks["workers"] = "ok" if Heartbeat.objects.alive().exists() else "none alive: run manage.py runworkers"
    except DatabaseError:
        checks["database"] = "does not answer"
    ready = set(checks.values()) == {"ok"}
    return JsonResponse({"status": "ok" if ready else "not ready", "checks": checks}, status=200 if ready else 503)


_known_migrated = False


def migrated() -> bool:
    """Tell whether every migration is applied; once true it stays so for this process, and costs nothing more."""
    global _known_migrated  # noqa: PLW0603
    if not _known_migrated:
        executor = MigrationExecutor(connection)
        _known_migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _known_migrated


@probe
def metrics(request: HttpRequest) -> HttpResponse:
    """Tell Prometheus what the database knows; with KILIT_METRICS_TOKEN set, only to who sends it."""
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if settings.METRICS_TOKEN and not secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        return JsonResponse(
            error_body("UNAUTHENTICATED", "Send the metrics token."), status=401, headers={"WWW-Authenticate": "Bearer"}
        )
    try:
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
    except DatabaseError:
        return JsonResponse(error_body("UNAVAILABLE", NO_DATABASE), status=503, headers={"Retry-After": "5"})
