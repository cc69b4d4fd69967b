"""Queries, decisions and responses of the cutting API; tests check every response against them."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Self

from django.core.files.uploadedfile import UploadedFile
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import Date, Id, InputModel, LenientInput, Moment, PageLimit, Time, invalid, text
from kilit.lock.priorities import PriorityName
from orchestrator.errors import Code, WarningCode
from orchestrator.schemas.figures import JobFigures
from orchestrator.schemas.orders import Day, Millimetres, OptiMode, OrderMessage, Text32, Text64, Text100, Text200
from orchestrator.states import JobState, Mode

PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,9})?", re.ASCII)


class CuttingJobsQuery(LenientInput):
    """Other parameters are ignored."""

    state: Annotated[JobState, WithJsonSchema({"type": "string", "enum": JobState.values})] | None = None
    order_id: Annotated[str, text(200, least=1)] | None = None
    cursor: Cursor | None = None
    limit: PageLimit = 50


class FinishedSpan(LenientInput):
    """Other parameters are ignored."""

    start: Moment = Field(alias="from", description="Finished from this time on.")
    end: Moment = Field(alias="to", description="Finished before this time.")

    @model_validator(mode="after")
    def is_a_span(self) -> Self:
        if self.start >= self.end:
            raise invalid("`from` must be before `to`.")
        return self


class DecisionReason(LenientInput):
    """Why an operator decided so, for the audit; other names are ignored."""

    reason: Annotated[str, text(1000)] | None = None

    examples = {"with a reason": {"reason": "The customer called."}}


class BoardsCut(DecisionReason):
    """What people have cut; without values, whoever sends it has cut all boards now."""

    by: Annotated[str, text(100)] | None = None
    at: Moment | None = None
    boards: (
        Annotated[int, Field(ge=1, strict=True, description="How many so far; the job is DONE with the last.")] | None
    ) = None

    examples = {"the first two boards": {"by": "Mehmet", "boards": 2}}


class StatusLinkRequest(InputModel):
    prices: Annotated[bool, Field(description="Whether its page shows what the order costs.")] = False

    examples = {"with the amounts": {"prices": True}}


class StatusLink(TypedDict):
    """A page for the customer that needs no login."""

    url: str
    prices: Annotated[bool, Field(description="Whether it shows what the order costs.")]


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
    due_on: Date | None
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
    handed_at: Annotated[Time | None, Field(description="When the saw got it, or people began to cut it.")]
    saw: Annotated[str | None, Field(description="Of several: the one that cuts it, or shall; null: not decided.")]
    by_hand: Annotated[bool, Field(description="People cut it, and no saw takes its files.")]
    boards_cut: Annotated[int, Field(description="By people, so far.")]
    cut_by: str | None
    cut_at: Time | None
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


class PlannedPiece(TypedDict):
    """Where a part or an offcut lies on its board, in millimetres from the corner with the trims."""

    part_id: str | None
    x: float
    y: float
    length: float
    width: float


class TakenOffcut(TypedDict):
    """An offcut of the store, by the code on its label."""

    code: str
    place: str


class PlannedBoard(TypedDict):
    """Boards that are cut alike; `length` is along the grain."""

    material_code: str
    color: str
    thickness_mm: Annotated[float | None, Field(description="Null: its parts have other names than in the order.")]
    length: float
    width: float
    boards: int
    from_offcuts: Annotated[list[TakenOffcut], Field(description="What a job has reserved in place of whole boards.")]
    parts: list[PlannedPiece]
    offcuts: list[PlannedPiece]


class JobWhole(JobShown):
    """A job with its order, files, the solution's figures, and its audit, oldest first."""

    plate_size: dict[str, Any] | None
    batch_count: int | None
    backing_edge_reset_count: int | None
    files: list[SheetFile]
    solution: dict[str, Any] | None
    patterns: Annotated[list[PlannedBoard], Field(description="Its boards, the first 60 kinds with 3,000 pieces.")]
    figures: Annotated[
        JobFigures | None,
        Field(description="What it needs and costs, decimals as strings; null while there are no valid rules."),
    ]
    xml_sha256: str | None
    delivery_names: list[str]
    payload: dict[str, Any]
    audit: list[AuditLine]


class OrderEstimate(TypedDict):
    """What an order needs and costs, by a plan of the built-in optimiser; nothing is stored."""

    boards: int
    boards_at_least: Annotated[int, Field(description="No plan has fewer, as far as the optimiser knows.")]
    is_optimal: Annotated[bool, Field(description="Whether no plan costs less.")]
    figures: Annotated[JobFigures, Field(description="Decimals as strings; `amounts` has the basis `plan`.")]
    patterns: list[PlannedBoard]
    patterns_beyond: Annotated[bool, Field(description="Whether there are more patterns than are returned.")]


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
        Field(
            description="Other jobs with the same parts, from the same sheet, or with the same order id and phone, the "
            "newest five: is it sent twice?"
        ),
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


def uploaded(value: object) -> Any:
    if not isinstance(value, UploadedFile):
        raise invalid("Expected a file.")
    return value


def exact(text: Any) -> Any:
    """Return a number that a form sent; other text is left for the validator to refuse."""
    return Decimal(text.replace(",", ".")) if PLAIN_NUMBER.fullmatch(str(text)) else text


class OrderImport(OrderMessage):
    """A sheet, and what it does not say. What the sheet says may not contradict it."""

    model_config = ConfigDict(strict=False)

    file: Annotated[
        Any,
        PlainValidator(uploaded),
        WithJsonSchema({"type": "string", "format": "binary", "description": "XLSX or CSV, up to 5 MB."}),
    ]
    order_id: Annotated[Text100 | None, Field(description="Default: the file's name without its ending.")] = None
    customer_phone: Text64 | None = None
    customer_snapshot_name: Text200 | None = None
    opti_mode: OptiMode | None = None
    revision: Annotated[int, Field(ge=0, le=9_999)] | None = None
    priority: PriorityName | None = None
    due_on: Day | None = None
    saw: Text64 | None = None
    material_code: Annotated[Text64 | None, Field(description="Of parts that do not say.")] = None
    color: Annotated[Text100 | None, Field(description="Of parts that do not say.")] = None
    thickness_mm: Annotated[
        Annotated[Millimetres, BeforeValidator(exact)] | None, Field(description="Of parts that do not say.")
    ] = None
    edge: Annotated[Text32 | None, Field(description="Of edges that are only marked: a name of the rules.")] = None
    sheet: Annotated[Text100 | None, Field(description="If several sheets have parts: the one to read.")] = None
    dry_run: Annotated[bool, Field(description="Only show the order; nothing is stored.")] = False

    examples = {
        "a list as CSV": {
            "file": "18MM;RENK: Beyaz\n;720;560;2;1;x;x\n",
            "order_id": "S-1002",
            "customer_phone": "0555 123 45 67",
            "material_code": "MAT-01",
            "edge": "1mm",
        }
    }


class TemplateQuery(LenientInput):
    """Other parameters are ignored."""

    format: Literal["xlsx", "csv"] = "xlsx"


class OrderSource(TypedDict):
    """Where a value was taken from, if not from the part's own cell."""

    field: Annotated[str, Field(description="`not read` for rows, columns and sheets that were left out.")]
    value: str
    origin: Literal["cell", "file", "file name", "caller", "rules", "default"]
    cell: str
    note: str


class ImportPreview(TypedDict):
    """The order as it would be, the cell of each field, and what was taken from elsewhere."""

    layout: Literal["kilit", "list", "cutlist", "opencutlist"]
    sheet: Annotated[str, Field(description="Empty for CSV.")]
    order: Annotated[dict[str, Any], Field(description="As `POST /jobs` takes it.")]
    cells: Annotated[dict[str, str], Field(description="By path: `parts.0.length_cm` is from B7.")]
    sources: list[OrderSource]
    similar_to: Annotated[
        list[SimilarJob], Field(description="Jobs that the order may repeat, the newest five; see `JobStored`.")
    ]
