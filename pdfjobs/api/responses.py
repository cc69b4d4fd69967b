"""The response bodies of the PDF API. Tests check every response against these types."""

from typing import Annotated, Any, TypedDict

from kilit.api.openapi import Id, SchemaKeywords, Time
from pdfjobs.states import ErrorCode, PdfStatus


class PdfJobCreated(TypedDict):
    job_id: Id
    status: Annotated[str, SchemaKeywords({"enum": PdfStatus.values})]
    created_at: Time


class PdfJobDetail(PdfJobCreated):
    started_at: Time | None
    finished_at: Time | None
    error_code: Annotated[str, SchemaKeywords({"enum": ErrorCode.values})] | None
    download_url: str | None
    retry_count: int


class PdfVariable(TypedDict):
    """One variable of a template."""

    path: str
    about: str
    allowed: str
    required: bool


class PdfTemplate(TypedDict):
    name: str
    title: str
    variables: list[PdfVariable]
    sample: dict[str, Any]


class PdfTemplates(TypedDict):
    templates: list[PdfTemplate]
