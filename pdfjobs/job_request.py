"""A valid request for a document."""

import json
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings

from kilit.api.input_model import InvalidInput
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
    name = body.get("template_name") if isinstance(body, dict) else None
    variables = document(name).model if isinstance(name, str) and name else Any
    request = _request_with(variables).read(body)
    kind = document(request.template_name)
    options = with_own_page(kind, request.variables, request.options or PdfOptions())
    return JobRequest(
        kind,
        as_stored(body["variables"]),
        options,
        timedelta(seconds=options.timeout) if options.timeout else LONGEST_TIMEOUT,
        options.fail_safe or FailSafe(settings.PDF_FAIL_SAFE),
        Priority[(request.priority or "normal").upper()],
        request.callbackUrl or "",
    )


@cache
def _request_with(variables: Any) -> type[PdfRequest[Any]]:
    """Return the message with these variables. It is kept: pydantic drops it when no one does, and builds it again."""
    generic: Any = PdfRequest  # for mypy, which takes what stands in brackets for a type
    model: type[PdfRequest[Any]] = generic[variables]
    return model


def with_own_page(kind: Document, variables: object, options: PdfOptions) -> PdfOptions:
    """Return the options with those that the document determines itself, such as the paper of labels."""
    own = kind.page_of(variables)
    if sent := sorted(own.keys() & options.model_fields_set):
        message = "This template sets it from its variables."
        raise InvalidInput([{"field": f"options.{name}", "message": message} for name in sent], len(sent))
    return options.model_copy(update=own)


def as_stored(variables: object) -> Any:
    """Return valid variables as the database returns them, without negative zero: workers compute the key from that."""
    return json.loads(json.dumps(variables, default=float), parse_float=lambda digits: float(digits) + 0.0)
