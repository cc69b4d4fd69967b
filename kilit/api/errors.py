"""One shape for every refusal of every API: `{"error": {"code", "message", …facts}}`."""

import sys
from collections.abc import Iterator
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_noop
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from kilit.api.refusals import Refusal
from kilit.api.request_id import request_id
from kilit.lock.guard import MoveRefused

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
NO_DATABASE = gettext_noop("The database does not answer; nothing was changed.")


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn what a view raised into an answer; DRF calls this."""
    if isinstance(error, MoveRefused):
        facts = {"id": str(error.subject.pk), "verb": error.verb, "state": error.state}
        return Response(refusal("MOVE_REFUSED", str(error), **facts), status=409)
    if isinstance(error, DATABASE_DOWN):
        return Response(refusal("UNAVAILABLE", NO_DATABASE), status=503, headers={"Retry-After": "5"})
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        fields = list(flat(error.detail))
        sentence = "; ".join(f"{path}: {text}" if path else text for path, text in fields)
        named = [{"field": path, "message": text} for path, text in fields]
        response.data = refusal("VALIDATION", sentence, fields=named)
    elif isinstance(error, Refusal):
        response.data = refusal(error.code, str(error.detail), **error.facts)
    else:
        detail = getattr(error, "detail", None) or response.status_text
        response.data = refusal(CODES.get(response.status_code, "ERROR"), str(detail))
    return response


def refusal(code: str, message: str, **facts: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **facts}}


def flat(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Return each fault with the path to its field, as in `parts.0.quantity`."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            step = "" if key == "non_field_errors" else str(key)
            yield from flat(value, ".".join(filter(None, (path, step))))
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for index, value in enumerate(detail):
            yield from flat(value, ".".join(filter(None, (path, str(index)))))
    elif isinstance(detail, list):
        yield from ((path, str(text)) for text in detail)
    else:
        yield path, str(detail)


def page_of_refusal(request: HttpRequest, status: int, message: str, **facts: str) -> HttpResponse:
    """Answer people with a page in their language, and machines in the one shape."""
    # People look at the console; everything else is spoken to by machines, which are answered in JSON.
    if request.path.startswith("/admin/"):
        # Drawn without the request: whoever asks for its user asks the database, which may be what failed.
        told = {"status": status, "message": gettext(message) % facts, "request_id": request_id.get()}
        return HttpResponse(render_to_string("error.html", told), status=status)
    return JsonResponse(refusal(CODES[status], message % facts), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself refused: a bad host, too large a form."""
    return page_of_refusal(request, 400, gettext_noop("The request is malformed."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page_of_refusal(request, 403, gettext_noop("You may not do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page_of_refusal(request, 404, gettext_noop("There is nothing at %(path)s."), path=request.path)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a fault of ours; the log has the rest, under the request id."""
    if isinstance(sys.exception(), DATABASE_DOWN):
        answer = page_of_refusal(request, 503, NO_DATABASE)
        answer.headers["Retry-After"] = "5"
        return answer
    message = gettext_noop("Something failed on our side; the request id finds it in the log.")
    return page_of_refusal(request, 500, message)
