"""Faults of requests and documents, in the API's shape."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rest_framework.exceptions import ValidationError

from kilit.api.errors import ApiError
from pdfjobs.api.fallback import RETRY_AFTER
from pdfjobs.documents import DocumentError, UnknownTemplateError
from pdfjobs.job_request import JobRequest, JobRequestError, parse_job_request
from pdfjobs.rendering import RenderError
from pdfjobs.states import ErrorCode

logger = logging.getLogger(__name__)


def read(body: Any) -> JobRequest:
    """Return what a body asks for, or refuse with every fault."""
    try:
        return parse_job_request(body)
    except UnknownTemplateError as fault:
        raise ApiError(400, ErrorCode.TEMPLATE_ERROR, str(fault), allowed=fault.allowed) from None
    except JobRequestError as error:
        faults: dict[str, list[str]] = {}
        for line in error.faults:
            path, _, words = line.partition(": ")
            faults.setdefault(path or "non_field_errors", []).append(words)
        raise ValidationError(faults) from None


@contextmanager
def refusing_broken_templates() -> Iterator[None]:
    """Tell the caller that the document cannot be made, and the operator why: that is in the log."""
    try:
        yield
    except DocumentError as fault:
        logger.error("document not made: %s", fault)  # noqa: TRY400 - the place in the template is the news
        words = "The document cannot be made as asked; whoever runs this service finds the reason in the log."
        raise ApiError(400, ErrorCode.TEMPLATE_ERROR, words) from None


@contextmanager
def refusing_unsupported() -> Iterator[None]:
    """Tell that this machine cannot make PDFs at all."""
    try:
        yield
    except RenderError as fault:
        logger.error("no PDFs here: %s", fault)  # noqa: TRY400
        raise ApiError(400, fault.code, "PDFs cannot be made on this machine.") from None


def unavailable() -> ApiError:
    """Return the refusal for as long as nobody renders."""
    words = "Nobody can render at the moment; nothing was stored."
    return ApiError(503, "PDF_RENDER_UNAVAILABLE", words, retry_after=RETRY_AFTER)
