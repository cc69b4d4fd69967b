"""What webhooks and callbacks report about PDF jobs: ids, states, errors and links, and nothing of the document."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Id, Time
from kilit.api.webhooks import Callback, Described, WebhookKind, console_url
from kilit.lock.models import Event
from pdfjobs.models import PdfCallback, PdfJob
from pdfjobs.states import CALLBACK_REQUESTED, PDF_JOBS, ErrorCode, PdfStatus

DownloadUrl = Annotated[str, Field(description="Needs a key of the job's owner. Set if the job has succeeded.")]


class PdfEventData(TypedDict):
    """A PDF job, as it was after the move that is reported."""

    job_id: Id
    status: PdfStatus
    template_name: str
    error_code: ErrorCode | None
    error_message: str | None
    created_at: Time
    finished_at: Time
    job_url: str
    download_url: DownloadUrl | None
    console_url: Annotated[str, Field(description="The page in the console.")]


def describe(status: PdfStatus, events: Sequence[Event]) -> dict[int, Described]:
    """Return the events by which jobs got this result, or were asked for it when they had it."""
    results = without_retried([event for event in events if event.to_state == status and is_result(event)])
    columns = ("owner_id", "template_name", "error_code", "created_at", "finished_at")
    rows = PdfJob.objects.filter(pk__any_of={event.object_id for event in results}).only(*columns)
    jobs = {job.pk: job for job in rows.prefetch_related("callbacks")}
    return {event.pk: _described(event, jobs[event.object_id]) for event in results if event.object_id in jobs}


def _described(event: Event, job: PdfJob) -> Described:
    called = sorted((row for row in job.callbacks.all() if is_called(row, event)), key=lambda row: row.pk)
    return Described(
        event_data(event, job),
        callbacks=[Callback(row.url, job.owner_id) for row in called],
        for_callbacks_only=event.event_type == CALLBACK_REQUESTED,
    )


def is_result(event: Event) -> bool:
    # A retry that is taken back leads to the failure that was reported before.
    return event.event_type == CALLBACK_REQUESTED or event.details.get("verb") != "undo_retry"


def without_retried(events: list[Event]) -> list[Event]:
    """Leave out failures that were retried automatically, by a move in the same transaction and so of the same time."""
    failed = [event for event in events if event.details.get("verb") == "fail"]
    if not failed:
        return events
    later = Event.objects.filter(
        queue=PDF_JOBS.queue, object_id__in={event.object_id for event in failed}, id__gt=failed[0].pk
    )
    retries = later.filter(details__verb="retry").values_list("object_id", "created_at", "id")
    last = {(job, at): number for job, at, number in retries.order_by("id")}
    return [event for event in events if last.get((event.object_id, event.created_at), 0) < event.pk]


def is_called(callback: PdfCallback, event: Event) -> bool:
    """Return whether an event leads to a call.

    A request for a finished document is an event of its own. A job that ended without a result, because it was
    cancelled or waited too long, reports that; a document whose time is over was reported when it was finished.
    """
    if event.event_type == CALLBACK_REQUESTED:
        return bool(event.details.get("callback") == callback.pk)
    has_no_result = event.to_state == PdfStatus.EXPIRED and event.from_state != PdfStatus.QUEUED
    return not callback.is_late and not has_no_result


def event_data(event: Event, job: PdfJob) -> PdfEventData:
    code = event.details.get("error_code", job.error_code)
    # A job that failed may have moved on; the others keep the time of their result.
    finished_at = event.created_at if event.to_state == PdfStatus.FAILED else job.finished_at or event.created_at
    url = f"{settings.PUBLIC_URL}/pdf/jobs/{job.pk}"
    return {
        "job_id": job.job_id,
        "status": PdfStatus(event.to_state),
        "template_name": job.template_name,
        "error_code": ErrorCode(code) if code else None,
        "error_message": f"The PDF could not be rendered: {ErrorCode(code).label}." if code else None,
        "created_at": format_time(job.created_at),
        "finished_at": format_time(finished_at),
        "job_url": url,
        "download_url": f"{url}/download" if event.to_state == PdfStatus.SUCCEEDED else None,
        "console_url": console_url(PdfJob, job.pk),
    }


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


JOB_ID = "01936f2e-8a41-7c3e-9d50-6b1f0e2a4c77"
JOB_URL = f"https://kilit.example/pdf/jobs/{JOB_ID}"
SUCCEEDED: PdfEventData = {
    "job_id": JOB_ID,
    "status": PdfStatus.SUCCEEDED,
    "template_name": "invoice",
    "error_code": None,
    "error_message": None,
    "created_at": "2026-11-15T12:00:00.123456Z",
    "finished_at": "2026-11-15T12:00:01.654321Z",
    "job_url": JOB_URL,
    "download_url": f"{JOB_URL}/download",
    "console_url": f"https://kilit.example/admin/pdfjobs/pdfjob/{JOB_ID}/change/",
}
FAILED: PdfEventData = {
    **SUCCEEDED,
    "status": PdfStatus.FAILED,
    "error_code": ErrorCode.NAVIGATION_TIMEOUT,
    "error_message": f"The PDF could not be rendered: {ErrorCode.NAVIGATION_TIMEOUT.label}.",
    "download_url": None,
}
EXPIRED: PdfEventData = {**SUCCEEDED, "status": PdfStatus.EXPIRED, "download_url": None}


def _kind(status: PdfStatus, about: StrOrPromise, example: PdfEventData) -> WebhookKind:
    return WebhookKind(
        f"pdf.{status}",
        PDF_JOBS.queue,
        (f"STATE_{status.upper()}", CALLBACK_REQUESTED),
        about=about,
        data=PdfEventData,
        example=example,
        describe=partial(describe, status),
        has_callbacks=True,
    )


KINDS = (
    _kind(PdfStatus.SUCCEEDED, _("A PDF was rendered and can be downloaded."), SUCCEEDED),
    _kind(PdfStatus.FAILED, _("A PDF could not be rendered. It will not be retried automatically."), FAILED),
    _kind(PdfStatus.EXPIRED, _("A PDF job was cancelled or deleted, or its time is over."), EXPIRED),
)
