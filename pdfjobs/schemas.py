"""The requests and responses of the PDF API. Each template declares its variables in documents/kinds."""

from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from kilit.api.messages import Expected, Id, Message, Time
from kilit.lock.priorities import PriorityName
from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.documents.fields import MOST_ERRORS
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering import PageOptions
from pdfjobs.states import ErrorCode, FailSafe, PdfStatus

VariablesT = TypeVar("VariablesT")
LONGEST = int(LONGEST_TIMEOUT.total_seconds())
Seconds = Annotated[int, Field(ge=1, le=LONGEST), Expected(f"whole seconds from 1 to {LONGEST}")]


class PdfOptions(PageOptions):
    timeout: Seconds | None = Field(default=None, description="Seconds for one attempt.")
    fail_safe: Annotated[FailSafe, Field(strict=False)] | None = Field(
        default=None, description="While no worker is available: an error, or the document as HTML."
    )


class PdfRequest(Message, Generic[VariablesT]):
    most_errors = MOST_ERRORS

    template_name: Annotated[str, Field(min_length=1), Expected("the name of a template")] = Field(examples=list(KNOWN))
    variables: VariablesT = Field(
        description="The template's variables; `GET /pdf/templates` lists them, with a sample.",
        json_schema_extra={"type": "object"},
    )
    options: PdfOptions | None = None
    priority: PriorityName | None = Field(
        default=None,
        description="Who is served first while jobs wait; default: normal. It does not change the document, and a job "
        "that exists already keeps its own.",
    )

    examples = {name: {"template_name": name, "variables": kind.sample} for name, kind in KNOWN.items()}


class PdfJobCreated(TypedDict):
    job_id: Id
    status: Annotated[str, WithJsonSchema({"type": "string", "enum": PdfStatus.values})]
    created_at: Time


class PdfJobDetail(PdfJobCreated):
    """The job; `download_url` is set once it has succeeded."""

    started_at: Time | None
    finished_at: Time | None
    error_code: Annotated[str, WithJsonSchema({"type": "string", "enum": ErrorCode.values})] | None
    download_url: str | None
    retry_count: int
    priority: PriorityName


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
    """The templates that may be used."""

    templates: list[PdfTemplate]
