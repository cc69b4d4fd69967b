"""Middleware: request ids, traces and the request log, health endpoints, and malformed requests."""

import logging
import re
import time
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import resolve
from opentelemetry.trace import Span, StatusCode

from kilit.access.middleware import Middleware
from kilit.api.errors import error_body
from kilit.api.probes import PROBES
from kilit.api.request_id import request_id
from kilit.lock.audit import acting_as
from kilit.lock.outages import has_stored, one_request
from kilit.trace import HEADER, request_trace
from kilit.workers.notifications import announce

logger = logging.getLogger("kilit.request")

MOST_SENT = settings.MOST_UPLOADED + 1024**2  # a form has some bytes besides its file
VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")


class RequestLogMiddleware(Middleware):
    """Gives every request an id, or keeps the proxy's, and logs it without its query, which may hold click ids."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent_id = request.headers.get("X-Request-ID", "")
        token = request_id.set(sent_id if VALID_REQUEST_ID.fullmatch(sent_id) else uuid4().hex)
        start = time.perf_counter()
        try:
            # Threads are reused: what one request did must not count for the next.
            with acting_as("anonymous"), one_request(), request_trace(request.headers.get(HEADER, "")) as span:
                response = self.get_response(request)
                if span.is_recording():
                    describe(span, request, response)
                if has_stored():
                    announce()
                if request.path not in PROBES:
                    milliseconds = round((time.perf_counter() - start) * 1000, 1)
                    extra = {"method": request.method, "path": request.path, "status": response.status_code}
                    logger.info("request", extra={**extra, "milliseconds": milliseconds})
            response["X-Request-ID"] = request_id.get()
            return response
        finally:
            request_id.reset(token)


def describe(span: Span, request: HttpRequest, response: HttpResponse) -> None:
    """Name a span for its route: the path may hold ids and tokens."""
    route = f"/{request.resolver_match.route}" if request.resolver_match else "other"
    span.update_name(f"{request.method} {route}")
    span.set_attributes(
        {
            "http.request.method": request.method or "",
            "http.route": route,
            "http.response.status_code": response.status_code,
            "kilit.request_id": request_id.get(),
        }
    )
    if response.status_code >= 500:
        span.set_status(StatusCode.ERROR)


class ProbeMiddleware(Middleware):
    """Serves the health endpoints before ALLOWED_HOSTS is checked: probes use the address, not the host name."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in PROBES:
            response: HttpResponse = resolve(request.path).func(request)
            return response
        return self.get_response(request)


class MalformedRequestMiddleware(Middleware):
    """Rejects what no view can read: a NUL in the address, a chunked body without a length, or a body too large."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower() and "CONTENT_LENGTH" not in request.META:
            return JsonResponse(error_body("LENGTH_REQUIRED", "Send the body with a Content-Length."), status=411)
        if request.META.get("CONTENT_LENGTH", "").isdecimal() and int(request.META["CONTENT_LENGTH"]) > MOST_SENT:
            message = f"The body is larger than {settings.MOST_UPLOADED // 1024**2} MB."
            return JsonResponse(error_body("TOO_LARGE", message), status=413)
        if "\x00" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return JsonResponse(error_body("BAD_REQUEST", "The address contains a NUL character."), status=400)
        return self.get_response(request)
