"""Probes for machines: is the process up, is the product ready, and what do the queues hold."""

import secrets

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from config.api.errors import refusal
from lifecycle.metrics import registry
from lifecycle.models import Heartbeat


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Tell that this process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
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


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Tell Prometheus what the database knows; with KILIT_METRICS_TOKEN set, only to who sends it."""
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if settings.METRICS_TOKEN and not secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        return JsonResponse(refusal("UNAUTHENTICATED", "Send the metrics token."), status=401)
    try:
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
    except DatabaseError:
        return JsonResponse(refusal("UNAVAILABLE", "The database does not answer."), status=503)
