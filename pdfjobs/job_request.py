"""A valid request for a document."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from kilit.lock.priorities import Priority
from pdfjobs.documents import Document, document
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering import PageOptions
from pdfjobs.schemas import PdfOptions, PdfRequest
from pdfjobs.states import FailSafe


@dataclass(frozen=True)
class JobRequest:
    document: Document
    variables: dict[str, Any]
    options: PageOptions
    timeout: timedelta
    fail_safe: FailSafe
    priority: Priority = Priority.NORMAL
    callback_url: str = ""


def parse_job_request(body: Any) -> JobRequest:
    """Return the request, or raise UnknownTemplateError or InvalidMessage."""
    name = body.get("template_name") if isinstance(body, dict) else None
    variables = document(name).model if isinstance(name, str) and name else Any
    generic: Any = PdfRequest  # for mypy, which takes what stands in brackets for a type
    request: PdfRequest[Any] = generic[variables].read(body)
    options = request.options or PdfOptions()
    return JobRequest(
        document(request.template_name),
        as_stored(body["variables"]),
        options,
        timedelta(seconds=options.timeout) if options.timeout else LONGEST_TIMEOUT,
        options.fail_safe or FailSafe(settings.PDF_FAIL_SAFE),
        Priority[(request.priority or "normal").upper()],
        request.callbackUrl or "",
    )


def as_stored(variables: Any) -> Any:
    """Return valid variables as the database returns them, without negative zero: workers compute the key from that."""
    return json.loads(json.dumps(variables, default=float), parse_float=lambda digits: float(digits) + 0.0)
