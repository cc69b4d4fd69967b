"""Views that connect layers of kilit."""

import secrets
from ipaddress import ip_address

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_noop
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from kilit.access.lockout import client_address
from kilit.access.models import DenialCode
from kilit.access.models.denied_request import mark_denied
from kilit.api.errors import NO_DATABASE, RETRY_LATER, error_body, error_response
from kilit.api.probes import probe
from kilit.web.metrics import MetricsBusyError, ScrapeCache
from kilit.workers.metrics import registry

NO_METRICS = "In production, set KILIT_METRICS_TOKEN or KILIT_METRICS_ALLOW; until then nobody can read the metrics."
OTHER_ADDRESS = "Your address is not in KILIT_METRICS_ALLOW."
AGE = """\
# HELP kilit_metrics_age_seconds How long ago the numbers above were computed
# TYPE kilit_metrics_age_seconds gauge
kilit_metrics_age_seconds {:.3f}
"""

scrapes = ScrapeCache(lambda: generate_latest(registry))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    mark_denied(request, DenialCode.CSRF, reason)
    message = gettext_noop(
        "This form was not sent from our own page, or the page is out of date. Reload and try again."
    )
    return error_response(request, 403, message)


@probe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics from the database, computed at most every KILIT_METRICS_SECONDS by a process."""
    if not may_read_metrics(request):
        return _metrics_refusal()
    try:
        scrape = scrapes.read(max_age=settings.METRICS_SECONDS)
    except (DatabaseError, InterfaceError):
        return JsonResponse(error_body("UNAVAILABLE", NO_DATABASE), status=503, headers=RETRY_LATER)
    except MetricsBusyError:
        body = error_body("UNAVAILABLE", "The metrics are being computed; try again.")
        return JsonResponse(body, status=503, headers=RETRY_LATER)
    text = scrape.text + AGE.format(scrape.age).encode()
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST, headers={"Age": str(int(scrape.age))})


def may_read_metrics(request: HttpRequest) -> bool:
    """Tell whether the client sent the token, or comes from an allowed network; in development anyone may."""
    if not (settings.METRICS_TOKEN or settings.METRICS_ALLOW):
        return not settings.PRODUCTION
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if settings.METRICS_TOKEN and secrets.compare_digest(token.encode(), settings.METRICS_TOKEN.encode()):
        return True
    address = ip_address(client_address(request))
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.METRICS_ALLOW)


def _metrics_refusal() -> HttpResponse:
    if settings.METRICS_TOKEN:
        body = error_body("UNAUTHENTICATED", "Send the metrics token.")
        return JsonResponse(body, status=401, headers={"WWW-Authenticate": "Bearer"})
    message = OTHER_ADDRESS if settings.METRICS_ALLOW else NO_METRICS
    return JsonResponse(error_body("FORBIDDEN", message), status=403)
