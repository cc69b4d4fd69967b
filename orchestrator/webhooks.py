"""What webhooks report about cutting jobs: ids, states and errors, never the customer."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Id
from kilit.api.webhooks import Described, WebhookKind, console_url
from kilit.lock.models import Event
from kilit.masking import mask_personal_data
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.states import JOBS, JobState

HIDDEN = "…"


class CuttingEventData(TypedDict):
    """A cutting job, as it was after the move that is reported."""

    id: Id
    order_id: str
    status: JobState
    retry_count: int
    error_code: Code | None
    error_message: Annotated[str, Field(description="Names and phone numbers are masked.")] | None
    console_url: Annotated[str, Field(description="The page in the console.")]


def describe_jobs(events: Sequence[Event]) -> dict[int, Described]:
    # A retry that is taken back leads to a failure that was reported before.
    moves = [
        event for event in events if event.from_state != event.to_state and event.details.get("verb") != "undo_retry"
    ]
    columns = ("order_id", "retry_count", "customer_phone", "customer_snapshot_name", "customer__name")
    rows = Job.objects.filter(pk__any_of={event.object_id for event in moves}).select_related("customer").only(*columns)
    jobs = {row.pk: row for row in rows}
    return {event.pk: _job(event, jobs[event.object_id]) for event in moves if event.object_id in jobs}


def _job(event: Event, job: Job) -> Described:
    details = event.details
    data: CuttingEventData = {
        "id": str(job.pk),
        "order_id": job.order_id,
        "status": JobState(event.to_state),
        "retry_count": details.get("retry_count", job.retry_count),
        "error_code": details.get("error_code") or None,
        "error_message": without_customer(details.get("error_message", ""), job) or None,
        "console_url": console_url(Job, job.pk),
    }
    return Described(data)


def without_customer(text: str, job: Job) -> str:
    for private in (job.customer_phone, job.customer_snapshot_name, job.customer_name):
        text = text.replace(private, HIDDEN) if private else text
    return mask_personal_data(text)


JOB_ID = "01936f2e-7c30-7b2d-8c4f-5a0e9d1b3f66"
DONE: CuttingEventData = {
    "id": JOB_ID,
    "order_id": "S-1001",
    "status": JobState.DONE,
    "retry_count": 0,
    "error_code": None,
    "error_message": None,
    "console_url": f"https://kilit.example/admin/orchestrator/job/{JOB_ID}/change/",
}
HOLD: CuttingEventData = {
    **DONE,
    "status": JobState.HOLD,
    "error_code": Code.CRM_NO_MATCH,
    "error_message": "No customer has the phone ….",
}
FAILED: CuttingEventData = {
    **DONE,
    "status": JobState.FAILED,
    "error_code": Code.OSI_ACK_TIMEOUT,
    "error_message": "The saw did not answer within 30 min.",
}


def _kind(name: str, state: JobState, about: StrOrPromise, example: Mapping[str, Any]) -> WebhookKind:
    return WebhookKind(
        name,
        JOBS.queue,
        (f"STATE_{state}",),
        about=about,
        data=CuttingEventData,
        example=example,
        describe=describe_jobs,
    )


KINDS = (
    _kind("cutting.hold", JobState.HOLD, _("A cutting job needs approval."), HOLD),
    _kind("cutting.done", JobState.DONE, _("A cutting job is finished."), DONE),
    _kind("cutting.failed", JobState.FAILED, _("A cutting job failed or was cancelled."), FAILED),
)
