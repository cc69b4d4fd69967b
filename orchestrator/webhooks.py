"""What webhooks report about cutting jobs: ids, states and errors, never the customer."""

from collections.abc import Sequence
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Id
from kilit.api.webhooks import Described, WebhookKind, console_url
from kilit.lock.models import Event
from kilit.masking import mask_personal_data
from kilit.sentences import english
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
    return {event.pk: Described(_job(event, jobs[event.object_id])) for event in moves if event.object_id in jobs}


def _job(event: Event, job: Job) -> CuttingEventData:
    details = event.details
    return {
        "id": str(job.pk),
        "order_id": job.order_id,
        "status": JobState(event.to_state),
        "retry_count": details.get("retry_count", job.retry_count),
        "error_code": details.get("error_code") or None,
        "error_message": without_customer(english(details.get("error_message", "")), job) or None,
        "console_url": console_url(Job, job.pk),
    }


def without_customer(text: str, job: Job) -> str:
    for private in (job.customer_phone, job.customer_snapshot_name, job.customer_name):
        text = text.replace(private, HIDDEN) if private else text
    return mask_personal_data(text)


JOB_ID = "01936f2e-7c30-7b2d-8c4f-5a0e9d1b3f66"


def _kind(state: JobState, about: StrOrPromise, code: Code | None = None, message: str | None = None) -> WebhookKind:
    example: CuttingEventData = {
        "id": JOB_ID,
        "order_id": "S-1001",
        "status": state,
        "retry_count": 0,
        "error_code": code,
        "error_message": message,
        "console_url": f"https://kilit.example/admin/orchestrator/job/{JOB_ID}/change/",
    }
    return WebhookKind(
        f"cutting.{state.lower()}",
        JOBS.queue,
        (f"STATE_{state}",),
        about=about,
        data=CuttingEventData,
        example=example,
        describe=describe_jobs,
    )


KINDS = (
    _kind(JobState.HOLD, _("A cutting job needs approval."), Code.CRM_NO_MATCH, "No customer has the phone …."),
    _kind(JobState.DONE, _("A cutting job is finished.")),
    _kind(
        JobState.FAILED,
        _("A cutting job failed or was cancelled."),
        Code.OSI_ACK_TIMEOUT,
        "The saw did not answer within 30 min.",
    ),
)
