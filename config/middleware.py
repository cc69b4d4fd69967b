"""Middleware: a number for every request, a line in the log for it, and the name of who makes it."""

import logging
import re
import time
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import resolve

from kilit.access.roles import actor_of
from kilit.api.errors import error_body
from kilit.api.request_id import request_id
from kilit.lock.audit import acting_as, name_actor

logger = logging.getLogger("kilit.request")

GetResponse = Callable[[HttpRequest], HttpResponse]
SANE_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
PROBES = {"/healthz", "/readyz", "/metrics"}


class RequestLog:
    """Numbers the request, taking over the proxy's number, and logs it without its query: that may hold click ids."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        token = request_id.set(given if SANE_ID.fullmatch(given) else uuid4().hex)
        start = time.perf_counter()
        try:
            # A thread serves many requests: what one of them named as its actor ends with it.
            with acting_as("anonymous"):
                response = self.get_response(request)
                if request.path not in PROBES:
                    milliseconds = round((time.perf_counter() - start) * 1000, 1)
                    extra = {"method": request.method, "path": request.path, "status": response.status_code}
                    logger.info("request", extra={**extra, "milliseconds": milliseconds})
            response["X-Request-ID"] = request_id.get()
            return response
        finally:
            request_id.reset(token)


class Probes:
    """Answers probes before anything looks at the host: they ask by address, not by name."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in PROBES:
            answer: HttpResponse = resolve(request.path).func(request)
            return answer
        return self.get_response(request)


class RefuseUnreadable:
    """Refuses what nothing behind it can read: a NUL in the address, and a body without its length."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower() and "CONTENT_LENGTH" not in request.META:
            return JsonResponse(error_body("LENGTH_REQUIRED", "Send the body with its Content-Length."), status=411)
        if "\x00" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return JsonResponse(error_body("BAD_REQUEST", "The address contains a NUL character."), status=400)
        return self.get_response(request)


class ActingUser:
    """Names the logged-in user as the actor of everything the request does."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Name the actor; a session is only read when the client sent one."""
        if request.COOKIES and request.user.is_authenticated:
            name_actor(actor_of(request.user))
        return self.get_response(request)
