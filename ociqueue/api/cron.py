"""Cron URLs for external schedulers, protected by a bearer secret."""

import secrets
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kilit.access.authentication import given_key
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from kilit.lock.audit import acting_as
from kilit.workers import doorbells, sweeps
from kilit.workers.models import Heartbeat
from ociqueue.operating.sweeps import attempt_cap
from ociqueue.schemas.requests import CapQuery
from ociqueue.schemas.responses import CronResult


class CronView(APIView):
    """Runs a sweep; accepts GET and POST, as schedulers differ."""

    tag = "Clocks"
    schemes = ("cronSecret",)
    errors: ClassVar = {503: {"CRON_OFF": "No secret is set, so this URL is disabled."}}
    get_stores = True
    task = ""
    authentication_classes = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "post", "options"]

    @endpoint(CronResult, may_retry_after=[503])
    def get(self, request: Request) -> Response:
        self.check_secret(request)
        return Response({"ok": True, "result": self.run()})

    post = get

    def check_secret(self, request: Request) -> None:
        if not settings.CRON_SECRET:
            raise ApiError(503, "CRON_OFF", "KILIT_CRON_SECRET is not set, so this URL is disabled.")
        if not secrets.compare_digest(given_key(request).encode(), settings.CRON_SECRET.encode()):
            raise NotAuthenticated("Send the cron secret as Authorization: Bearer.")

    def run(self) -> str:
        return sweeps.run(self.task)

    def get_authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BellView(CronView):
    """Rings a doorbell: long work and calls to other services are done by workers."""

    errors: ClassVar = {
        503: {**CronView.errors[503], "NO_WORKER": "No worker is running; the work starts when one does."}
    }

    def run(self) -> str:
        if not doorbells.doorbells[self.task].is_due():
            return "Nothing is due."
        if not Heartbeat.objects.alive().exists():
            raise ApiError(503, "NO_WORKER", "No worker is running; the work starts when one does.", retry_after=60)
        return "Rung." if doorbells.ring_now(self.task) else "Rung already."


class RecoverView(CronView):
    """Take back conversions that were claimed and never acknowledged."""

    task = "oci_recover_processing"


class CapView(CronView):
    """Fail conversions that used up their attempts."""

    task = "oci_attempt_cap"

    @endpoint(CronResult, query=CapQuery, may_retry_after=[503])
    def get(self, request: Request, query: CapQuery) -> Response:  # type: ignore[override]
        self.check_secret(request)
        if query.minAgeMinutes is None:
            return Response({"ok": True, "result": self.run()})
        with acting_as(f"sweep:{self.task}"):
            result = attempt_cap(min_age=timedelta(minutes=query.minAgeMinutes))
        return Response({"ok": True, "result": result})

    post = get  # type: ignore[assignment]


class RequeueView(CronView):
    """Retry TRANSIENT failures on sites that ask for it."""

    task = "oci_requeue_transient"


class EndUnsendableView(CronView):
    """End conversions that wait and are not sent: consent was denied, they are over 90 days old, or retracted."""

    task = "oci_end_unsendable"


class UploadView(BellView):
    """Upload due conversions through the Google Ads API."""

    task = "oci_upload"


class ReconcileView(BellView):
    """Compare what was sent with what Google counted."""

    task = "oci_reconcile"


class VerdictsView(BellView):
    """Ask Google for the verdict on conversions that it took."""

    task = "oci_verdicts"
