"""Views that connect layers of kilit."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_noop

from kilit.access.models import DenialCode
from kilit.access.models.denied_request import mark_denied
from kilit.api.errors import error_response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    mark_denied(request, DenialCode.CSRF, reason)
    message = gettext_noop(
        "This form was not sent from our own page, or the page is out of date. Reload and try again."
    )
    return error_response(request, 403, message)
