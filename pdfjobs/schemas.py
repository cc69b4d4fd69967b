"""The requests and responses of the PDF API. Each template declares its variables in documents/kinds."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Generic, NotRequired, TypeVar

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import Expected, Id, InputModel, PageLimit, Time
from kilit.lock.priorities import PriorityName
from kilit.outgoing.urls import MOST_CHARACTERS, parse_url
from pdfjobs.documents.catalogue import KNOWN
from pdfjobs.documents.fields import MOST_ERRORS
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering import PageOptions
from pdfjobs.states import ErrorCode, FailSafe, PdfStatus

VariablesT = TypeVar("VariablesT")
STATES = WithJsonSchema({"type": "string", "enum": PdfStatus.values})
LONGEST = int(LONGEST_TIMEOUT.total_seconds())
Seconds = Annotated[int, Field(ge=1, le=LONGEST), Expected(f"whole seconds from 1 to {LONGEST}")]
DEFAULT_LINK_LIFE, LONGEST_LINK_LIFE = timedelta(hours=1), timedelta(days=7)
LONGEST_LINK = int(LONGEST_LINK_LIFE.total_seconds())
LinkSeconds = Annotated[int, Field(ge=1, le=LONGEST_LINK), Expected(f"whole seconds from 1 to {LONGEST_LINK}")]

# Ids, which carry the time, begin in 1970; Python's time ends with 9999.
QueryTime = Annotated[
    AwareDatetime,
    Field(ge=datetime(1980, 1, 1, tzinfo=UTC), lt=datetime(9998, 1, 1, tzinfo=UTC)),
    Expected("a time with its offset, such as 2026-11-15T12:00:00Z"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def check_url(url: str) -> str:
    parse_url(url)
    return url


CallbackUrl = Annotated[str, Field(max_length=MOST_CHARACTERS), AfterValidator(check_url)]


class PdfOptions(PageOptions):
    timeout: Seconds | None = Field(default=None, description="Seconds for one attempt.")
    fail_safe: Annotated[FailSafe, Field(strict=False)] | None = Field(
        default=None, description="While no worker is available: an error, or the document as HTML."
    )


class PdfRequest(InputModel, Generic[VariablesT]):
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
    callbackUrl: CallbackUrl | None = Field(
        default=None,
        description="Where the result is sent, signed as webhooks are. Its scheme, host and port must be those of "
        "one of your webhook endpoints. It does not change the document: everyone who requests it may name another.",
        examples=["https://shop.example/pdf-results?order=1001"],
    )

    examples = {name: {"template_name": name, "variables": kind.sample} for name, kind in KNOWN.items()}


class PdfWarning(TypedDict):
    """What is not as the caller may expect, in a document that is rendered all the same."""

    code: Annotated[str, WithJsonSchema({"type": "string", "enum": ["MISSING_CHARACTERS"]})]
    message: str
    characters: str


class PdfJobCreated(TypedDict):
    """The job; `warnings` is there if something is not as you may expect."""

    job_id: Id
    status: Annotated[str, STATES]
    created_at: Time
    warnings: NotRequired[list[PdfWarning]]


class PdfJobDetail(PdfJobCreated):
    """The job; `download_url` is set once it has succeeded."""

    started_at: Time | None
    finished_at: Time | None
    error_code: Annotated[str, WithJsonSchema({"type": "string", "enum": ErrorCode.values})] | None
    download_url: str | None
    retry_count: int
    priority: PriorityName


class PdfJobsQuery(InputModel):
    model_config = ConfigDict(strict=False)

    status: Annotated[PdfStatus, STATES] | None = None
    created_after: QueryTime | None = Field(default=None, description="Created at this time or later.")
    created_before: QueryTime | None = Field(default=None, description="Created before this time.")
    limit: PageLimit = 50
    cursor: Cursor | None = None


class PdfJobsPage(TypedDict):
    """A page of your jobs, newest first; the last page has no `next_cursor`."""

    jobs: list[PdfJobDetail]
    next_cursor: NotRequired[str]


class PdfLinkRequest(InputModel):
    expiresIn: LinkSeconds = Field(
        default=int(DEFAULT_LINK_LIFE.total_seconds()),
        description="Seconds until the link stops working. It stops earlier if the file is deleted earlier.",
    )

    examples = {"a day": {"expiresIn": 86_400}}


class PdfLink(TypedDict):
    """A link to the PDF that needs no key."""

    job_id: Id
    url: str
    expires_at: Time


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
