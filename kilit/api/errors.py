"""Errors of every API in one shape: `{"error": {"code", "message", …details}}`."""

import sys
from typing import Any

from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_noop
from rest_framework.exceptions import APIException

from kilit.api.request_id import request_id
from kilit.lock.outages import DATABASE_DOWN, CommitsWaitError, ReadOnlyDatabase, is_disk_full, is_outcome_known
from kilit.web.counter import HOST, REFUSAL

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

NO_DATABASE = gettext_noop("The database is not responding; nothing was changed.")
NO_SPACE = gettext_noop("The database has no space left on its disk; nothing was changed.")
READ_ONLY = gettext_noop("The database is read-only; nothing was changed.")
COMMITS_WAIT = gettext_noop("The database is waiting for its standby; nothing was changed.")
OUTCOME_UNKNOWN = (
    "The connection to the database was lost, and it is not known whether this was stored. "
    "Sending it again with the same keys is safe."
)
CHECK_FIRST = gettext_noop(
    "The connection to the database was lost, and it is not known whether your change was stored. "
    "Check before you repeat it."
)
RETRY_LATER = {"Retry-After": "5"}


class ApiError(APIException):
    """An error with a status, a code for machines, a message for people, and details that go with the code."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: int | None = None, **details: object
    ) -> None:
        super().__init__(message)
        self.status_code, self.code, self.details = status, code, details
        if retry_after is not None:
            self.wait = retry_after  # DRF turns this into the Retry-After header


def error_body(code: str, message: str, **details: object) -> dict[str, object]:
    return {"error": {"code": code, "message": message, **details}}


def outage_body(error: Exception) -> dict[str, Any]:
    if not is_outcome_known(error):
        return error_body("OUTCOME_UNKNOWN", OUTCOME_UNKNOWN)
    messages: dict[type[Exception], str] = {ReadOnlyDatabase: READ_ONLY, CommitsWaitError: COMMITS_WAIT}
    return error_body("UNAVAILABLE", NO_SPACE if is_disk_full(error) else messages.get(type(error), NO_DATABASE))


def error_response(request: HttpRequest, status: int, message: str, **values: str) -> HttpResponse:
    """Return a translated page in the console, and JSON everywhere else."""
    if is_console(request):
        return error_page(status, gettext(message) % values)
    return JsonResponse(error_body(CODES[status], message % values), status=status)


def is_console(request: HttpRequest) -> bool:
    return request.path.startswith("/admin/")


def error_page(status: int, message: str, *, is_console: bool = True) -> HttpResponse:
    # Rendered without the request: its user needs the database, which may be what failed.
    context = {"status": status, "message": message, "request_id": request_id.get(), "is_console": is_console}
    return HttpResponse(render_to_string("error.html", context), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself rejects: an unknown host, a form that is too large."""
    if isinstance(exception, SessionInterrupted) and exception.__context__:
        # For Django any error on saving a session means that the session has ended.
        cause = exception.__context__.__context__
        if isinstance(cause, DATABASE_DOWN):
            return outage_response(request, cause)
    if isinstance(exception, DisallowedHost):
        request.META[REFUSAL] = HOST
    return error_response(request, 400, gettext_noop("The request is malformed."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = gettext_noop("Your role does not allow this. Ask an owner of this installation, or an admin of the site.")
    return error_response(request, 403, message)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, 404, gettext_noop("There is nothing at %(path)s."), path=request.path)


def server_error(request: HttpRequest) -> HttpResponse:
    error = sys.exception()
    if isinstance(error, DATABASE_DOWN):
        return outage_response(request, error)
    message = gettext_noop("Something went wrong on our side. The request id identifies it in the log.")
    return error_response(request, 500, message)


def outage_response(request: HttpRequest, error: Exception) -> HttpResponse:
    body = outage_body(error)
    if is_console(request):
        message = body["error"]["message"] if is_outcome_known(error) else CHECK_FIRST
        response = error_page(503, gettext(message))
    else:
        response = JsonResponse(body, status=503)
    response["Retry-After"] = RETRY_LATER["Retry-After"]
    return response
