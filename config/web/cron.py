"""Cron URLs for external schedulers, protected by a bearer secret; each comes from the declaration of a sweep."""

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar, Literal

from django.conf import settings
from django.urls import URLPattern, path
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from typing_extensions import TypedDict

from kilit.access.authentication import given_key
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from kilit.lock.audit import acting_as
from kilit.workers import doorbells, sweeps
from kilit.workers.models import Heartbeat
from kilit.workers.sweeps import Cron, CronQuery, Sweep


class CronResult(TypedDict):
    """A summary of what was done."""

    ok: Literal[True]
    result: str


class CronView(APIView):
    """Runs a sweep; accepts GET and POST, as schedulers differ."""

    tag = "Clocks"
    schemes = ("cronSecret",)
    errors: ClassVar = {503: {"CRON_OFF": "No secret is set, so this URL is disabled."}}
    get_stores = True
    authentication_classes = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "post", "options"]
    sweep: Sweep

    def respond(self, request: Request, query: CronQuery | None = None) -> Response:
        if not settings.CRON_SECRET:
            raise ApiError(503, "CRON_OFF", "KILIT_CRON_SECRET is not set, so this URL is disabled.")
        if not secrets.compare_digest(given_key(request).encode(), settings.CRON_SECRET.encode()):
            raise NotAuthenticated("Send the cron secret as Authorization: Bearer.")
        return Response({"ok": True, "result": self.run(query.keywords() if query else {})})

    def run(self, keywords: dict[str, timedelta]) -> str:
        if not keywords:
            return sweeps.run(self.sweep.name)
        with acting_as(f"sweep:{self.sweep.name}"):
            return self.sweep.run(**keywords)

    def get_authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BellView(CronView):
    """Rings a doorbell."""

    errors: ClassVar = {
        503: {**CronView.errors[503], "NO_WORKER": "No worker is running; the work starts when one does."}
    }

    def run(self, keywords: dict[str, timedelta]) -> str:
        name = self.sweep.name
        if not doorbells.doorbells[name].is_due():
            return "Nothing is due."
        if not Heartbeat.objects.alive().exists():
            raise ApiError(503, "NO_WORKER", "No worker is running; the work starts when one does.", retry_after=60)
        return "Rung." if doorbells.ring_now(name) else "Rung already."


def urls() -> Iterator[URLPattern]:
    for sweep in sweeps.sweeps.values():
        if sweep.cron:
            view = view_of(sweep, sweep.cron).as_view()
            yield from (path(address, view) for address in (sweep.cron.path, sweep.cron.older_path) if address)


def view_of(sweep: Sweep, cron: Cron) -> type[CronView]:
    base = BellView if cron.rings else CronView

    def get(self: CronView, request: Request, query: CronQuery | None = None) -> Response:
        return self.respond(request, query)

    described = endpoint(CronResult, query=cron.query, may_retry_after=[503])(get)
    return type(base.__name__, (base,), {"__doc__": cron.about, "sweep": sweep, "get": described, "post": described})
