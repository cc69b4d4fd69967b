"""Queries, decisions and responses of the cutting API; tests check every response against them."""

from typing import Annotated, Any, NotRequired, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, Id, InputModel, Moment, Time, invalid, text
from kilit.lock.priorities import PriorityName
from orchestrator.errors import Code, WarningCode
from orchestrator.schemas.figures import JobFigures
from orchestrator.states import JobState, Mode


class CuttingJobsQuery(InputModel):
    """Other parameters are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False)

    state: Annotated[JobState, WithJsonSchema({"type": "string", "enum": JobState.values})] | None = None
    order_id: Annotated[str, text(200, least=1)] | None = None
    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=200), ONLY_DIGITS] = 50


class FinishedSpan(InputModel):
    """Other parameters are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False)

    start: Moment = Field(alias="from", description="Finished from this time on.")
    end: Moment = Field(alias="to", description="Finished before this time.")

    @model_validator(mode="after")
    def is_a_span(self) -> Self:
        if self.start >= self.end:
            raise invalid("`from` must be before `to`.")
        return self


class DecisionReason(InputModel):
    """Why an operator decided so, for the audit; other names are ignored."""

    model_config = ConfigDict(strict=False, extra="ignore", coerce_numbers_to_str=True)

    reason: Annotated[str, text(1000)] | None = None

    examples = {"with a reason": {"reason": "The customer called."}}


class JobWarning(TypedDict):
    """What should be looked at before the job is cut, although it is not an error."""

    code: WarningCode
    message: str
    parts: Annotated[list[str], Field(description="Ids of the parts, the first hundred.")]


class JobShown(TypedDict):
    """A job as in lists."""

    id: Id
    state: JobState
    order_id: str
    customer_phone: str
    customer_snapshot_name: str | None
    customer_id: int | None
    opti_mode: Mode
    revision: int
    payload_hash: str
    part_count: int
    retry_count: int
    priority: PriorityName
    manual_trigger_approved: bool
    claimed: bool
    error_code: Code | None
    error_message: str | None
    warnings: list[JobWarning]
    next_run_at: Time
    created_at: Time
    updated_at: Time
    imported_at: Time | None
    opti_started_at: Time | None
    handed_at: Time | None
    finished_at: Time | None


class SheetFile(TypedDict):
    """A sheet in OptiPlanning's import folder."""

    name: str
    sha256: str


class AuditLine(TypedDict):
    """What happened to a job, who did it, and why."""

    id: int
    job_id: Id
    event_type: str
    from_state: JobState | None
    to_state: JobState | None
    actor: str
    message: str
    details: dict[str, Any]
    created_at: Time


class JobWhole(JobShown):
    """A job with its order, files, the solution's figures, and its audit, oldest first."""

    plate_size: dict[str, Any] | None
    batch_count: int | None
    backing_edge_reset_count: int | None
    files: list[SheetFile]
    solution: dict[str, Any] | None
    figures: Annotated[
        JobFigures | None,
        Field(description="What it needs and costs, decimals as strings; null while there are no valid rules."),
    ]
    xml_sha256: str | None
    delivery_names: list[str]
    payload: dict[str, Any]
    audit: list[AuditLine]


class SimilarJob(TypedDict):
    """A job that the order may repeat."""

    job_id: Id
    order_id: str
    created_at: Time


class JobStored(TypedDict):
    """The order's job, and whether it existed before."""

    job: JobShown
    deduplicated: bool
    similar_to: Annotated[
        list[SimilarJob],
        Field(description="Other jobs with the same parts or from the same sheet, the newest five: is it sent twice?"),
    ]


class JobPage(TypedDict):
    """A page, newest first; the last page has no `next_cursor`."""

    jobs: list[JobShown]
    next_cursor: NotRequired[str]


class JobDetail(TypedDict):
    """The job."""

    job: JobWhole


class JobDecided(TypedDict):
    """The job after the change."""

    job: JobShown


class CustomerShown(TypedDict):
    id: int
    phone: Annotated[str, Field(description="E.164.")]
    name: str
    created_at: Time


class CustomerFound(TypedDict):
    """The customer with this phone number."""

    customer: CustomerShown
