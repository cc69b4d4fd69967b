"""Exceptions of views as errors of the API; apart from the errors, which workers raise without loading any view."""

from rest_framework.response import Response
from rest_framework.views import exception_handler

from kilit.api.errors import CODES, RETRY_LATER, error_body, outage_body
from kilit.api.input_model import InvalidInput
from kilit.lock.guard import MoveRefused
from kilit.lock.inserts import KeyTaken
from kilit.lock.outages import DATABASE_DOWN


def exception_response(error: Exception, context: dict[str, object]) -> Response | None:
    if isinstance(error, MoveRefused):
        details = {"id": str(error.subject.pk), "verb": error.verb, "state": error.state}
        return Response(error_body("MOVE_REFUSED", str(error), **details), status=409)
    if isinstance(error, KeyTaken):
        body = error_body("KEY_TAKEN", str(error), id=str(error.row.pk), differs=error.differing)
        return Response(body, status=409)
    if isinstance(error, DATABASE_DOWN):
        return Response(outage_body(error), status=503, headers=RETRY_LATER)
    if isinstance(error, InvalidInput):
        return Response(error_body("VALIDATION", str(error), fields=error.errors), status=400)
    response = exception_handler(error, context)
    if response is None:
        return None
    detail = getattr(error, "detail", None) or response.status_text
    # An ApiError has both; so has the one of kilit.access, which imports nothing from here.
    code = getattr(error, "code", CODES.get(response.status_code, "ERROR"))
    response.data = error_body(code, str(detail), **getattr(error, "details", {}))
    return response
