"""What the PDF queue's API answers, as types; tests hold every answer against them."""

from typing import Annotated, Any, TypedDict

from kilit.api.openapi import Id, SchemaKeywords, Time
from pdfjobs.states import ErrorCode, PdfStatus


class Made(TypedDict):
    """The answer to a request for a document."""

    job_id: Id
    status: Annotated[str, SchemaKeywords({"enum": PdfStatus.values})]
    created_at: Time


class Told(Made):
    started_at: Time | None
    finished_at: Time | None
    error_code: Annotated[str, SchemaKeywords({"enum": ErrorCode.values})] | None
    download_url: str | None
    retry_count: int


class Variable(TypedDict):
    """One variable of a template."""

    path: str
    about: str
    allowed: str
    required: bool


class Template(TypedDict):
    """What can be asked for."""

    name: str
    title: str
    variables: list[Variable]
    sample: dict[str, Any]
