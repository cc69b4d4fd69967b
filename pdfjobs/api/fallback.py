"""What a request gets while no worker is available: an error, or the document as HTML."""

import logging

from django.http import HttpResponse

from kilit.api.errors import ApiError
from kilit.workers.models import Heartbeat
from pdfjobs.documents import DocumentError
from pdfjobs.job_request import JobRequest
from pdfjobs.states import ErrorCode, FailSafe

logger = logging.getLogger(__name__)

RETRY_AFTER = 15  # seconds; a supervisor has replaced a lost cluster by then
# The page shows a caller's text under our domain, so it may load nothing but itself.
HEADERS = {
    "X-Pdf-Fallback": "html",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; sandbox",
}


def workers_available() -> bool:
    """Whether a task recently went all the way through some cluster."""
    return Heartbeat.objects.alive().exists()


def fallback_response(request: JobRequest) -> HttpResponse:
    """Answer instead of a worker, as the caller wishes. Nothing is stored."""
    if request.fail_safe == FailSafe.STRICT:
        message = "No worker is available to render PDFs; nothing was stored."
        raise ApiError(503, "PDF_RENDER_UNAVAILABLE", message, retry_after=RETRY_AFTER)
    try:
        return HttpResponse(request.html(), headers=HEADERS)
    except DocumentError as error:
        # The place in the template is for operators only.
        logger.error("cannot render %s as HTML: %s", request.document.name, error)  # noqa: TRY400
        message = "The document cannot be rendered as requested; the server's log has the reason."
        raise ApiError(400, ErrorCode.TEMPLATE_ERROR, message) from None
