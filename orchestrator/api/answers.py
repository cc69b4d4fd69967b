"""Response types of the cutting API; tests check every response against them."""

from typing import Annotated, Any, NotRequired, TypedDict

from kilit.api.openapi import Id, SchemaKeywords, Time
from orchestrator.errors import Code
from orchestrator.states import JobState, Mode

STATE = {"enum": JobState.values}


class JobShown(TypedDict):
    """A job as in lists."""

    id: Id
    state: Annotated[str, SchemaKeywords(STATE)]
    order_id: str
    customer_phone: str
    customer_snapshot_name: str | None
    customer_id: int | None
    opti_mode: Annotated[str, SchemaKeywords({"enum": Mode.values})]
    revision: int
    payload_hash: str
    part_count: int
    retry_count: int
    manual_trigger_approved: bool
    claimed: bool
    error_code: Annotated[str, SchemaKeywords({"enum": Code.values})] | None
    error_message: str | None
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
    event_type: str
    from_state: Annotated[str, SchemaKeywords(STATE)] | None
    to_state: Annotated[str, SchemaKeywords(STATE)] | None
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
    xml_sha256: str | None
    delivery_names: list[str]
    payload: dict[str, Any]
    audit: list[AuditLine]


class JobStored(TypedDict):
    """The order's job, and whether it existed before."""

    job: JobShown
    deduplicated: bool


class JobPage(TypedDict):
    """A page, newest first; the last page has no `next_cursor`."""

    jobs: list[JobShown]
    next_cursor: NotRequired[str]


class JobDetail(TypedDict):
    job: JobWhole


class JobDecided(TypedDict):
    """The job after the change."""

    job: JobShown


class CustomerShown(TypedDict):
    id: int
    phone: Annotated[str, SchemaKeywords({"description": "E.164."})]
    name: str
    created_at: Time


class CustomerFound(TypedDict):
    """The customer with this phone number."""

    customer: CustomerShown
