"""Errors of every API in one shape: `{"error": {"code", "message", …details}}`."""

import sys
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_noop
from rest_framework.exceptions import APIException

from kilit.api.request_id import request_id

CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    409: "CONFLICT",
    413: "TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "TOO_MANY_REQUESTS",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}

DATABASE_DOWN = (OperationalError, InterfaceError)
NO_DATABASE = gettext_noop("The database is not responding; nothing was changed.")


class ApiError(APIException):
    """An error with a status, a code for machines, a message for people, and details that go with the code."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None, **details: Any) -> None:
        super().__init__(message)
        self.status_code, self.code, self.details = status, code, details
        if retry_after is not None:
            self.wait = retry_after  # DRF turns this into the Retry-After header


def error_body(code: str, message: str, **details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **details}}


def error_response(request: HttpRequest, status: int, message: str, **values: str) -> HttpResponse:
    """Return a translated page in the console, and JSON everywhere else."""
    if request.path.startswith("/admin/"):
        # Rendered without the request: its user needs the database, which may be what failed.
        context = {"status": status, "message": gettext(message) % values, "request_id": request_id.get()}
        return HttpResponse(render_to_string("error.html", context), status=status)
    return JsonResponse(error_body(CODES[status], message % values), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself rejects: an unknown host, a form that is too large."""
    return error_response(request, 400, gettext_noop("The request is malformed."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, 403, gettext_noop("You don't have permission to do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, 404, gettext_noop("There is nothing at %(path)s."), path=request.path)


def server_error(request: HttpRequest) -> HttpResponse:
    if isinstance(sys.exception(), DATABASE_DOWN):
        response = error_response(request, 503, NO_DATABASE)
        response.headers["Retry-After"] = "5"
        return response
    message = gettext_noop("Something went wrong on our side. The request id identifies it in the log.")
    return error_response(request, 500, message)
