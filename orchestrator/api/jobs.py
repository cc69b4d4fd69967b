"""The endpoints of jobs, customers and figures: viewers read, operators act, and a key has the role of its user."""

import io
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.errors import ApiError
from kilit.api.job_views import JOB_ID, QueueView, newest
from kilit.api.openapi import ApiResponse, endpoint
from kilit.api.presenter import present
from kilit.csv.writer import csv_response
from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from kilit.sentences import english, english_values
from orchestrator.api.boards import boards_of
from orchestrator.errors import PERMANENT_CODES, Code, WarningCode
from orchestrator.figures.export import export_lines
from orchestrator.figures.job_figures import figures_json
from orchestrator.models import Customer, Job
from orchestrator.models.job import JobQuerySet
from orchestrator.orders.enqueue import enqueue, similar_jobs
from orchestrator.orders.order import read_order
from orchestrator.planning.saws import refuse_uncuttable
from orchestrator.schemas import jobs as messages
from orchestrator.schemas.jobs import (
    AuditLine,
    FinishedSpan,
    JobShown,
    JobWarning,
    JobWhole,
    SimilarJob,
)
from orchestrator.schemas.orders import UNSAFE_CHARS, CustomerLookup, InvalidOrder, NewCustomer, Order
from orchestrator.workflow import by_hand, decisions, half_cut

MOST_IN_MESSAGE = 20
INVALID_ORDER = {422: {Code.VALIDATION.value: "`faults` lists every error with its path."}}
NO_RULES = {503: {Code.UNKNOWN.value: "The rules cannot be read.", Code.TEMPLATE_INVALID.value: "The same."}}


class CuttingView(QueueView):
    tag = "Cutting jobs"
    model = Job

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, InvalidOrder):
            message = "; ".join(exc.lines[:MOST_IN_MESSAGE])
            if (more := exc.count - MOST_IN_MESSAGE) > 0:
                message = f"{message}; and {more} more"
            beyond = {"faults_beyond": exc.count - len(exc.lines)} if exc.count > len(exc.lines) else {}
            exc = ApiError(422, Code.VALIDATION, message, faults=exc.lines, **beyond)
        return super().handle_exception(exc)


class JobsView(CuttingView):
    @endpoint(
        responses={
            200: ApiResponse("The order was sent before.", messages.JobStored),
            201: ApiResponse("The new job.", messages.JobStored),
        },
        body=Order,
        scope=KeyScope.ENQUEUE,
        reads=False,
        errors={**INVALID_ORDER, **NO_RULES},
    )
    def post(self, request: Request) -> Response:
        """Send an order.

        Sending the same order again returns the same job; to have it cut again, send a new `revision`. A part that is
        larger than the plate is an error. `similar_to` names jobs that this one may repeat: with the same parts under
        another name or in another mode, or with the same order id and phone.
        """
        rules = decisions.require_rules()
        order = read_order(request.data, default_mode=rules.opti_mode_default)
        body = cast("dict[str, object]", request.data)  # read_order has rejected anything else
        is_given = body.get("opti_mode") is not None
        similar = similar_jobs(order, mode_is_given=is_given)
        job, is_known = enqueue(order, mode_is_given=is_given, check=partial(refuse_uncuttable, rules=rules))
        return job_stored(job, similar, is_known=is_known)

    @endpoint(messages.JobPage, query=messages.CuttingJobsQuery)
    def get(self, request: Request, query: messages.CuttingJobsQuery) -> Response:
        """List jobs.

        Newest first. Pass `next_cursor` as `cursor` for the next page; pages are stable while jobs move.
        """
        return self.page("jobs", listed_jobs(query), query, present_job)


class OneJobView(CuttingView):
    parameters = JOB_ID
    errors: ClassVar = {**CuttingView.errors, 404: {Code.JOB_NOT_FOUND.value: "There is no such job."}}


class JobView(OneJobView):
    @endpoint(messages.JobDetail)
    def get(self, request: Request, pk: str) -> Response:
        """Get a job with its audit trail."""
        return Response({"job": present_job_detail(decisions.find(read_id(pk)))})


class DecisionView(OneJobView):
    decide: Callable[[UUID], Job]

    @endpoint(messages.JobDecided, body=messages.DecisionReason, may_retry_after=[409])
    def post(self, request: Request, body: messages.DecisionReason, pk: str) -> Response:
        with for_reason(body.reason or ""):
            return Response({"job": present_job(self.decide(read_id(pk)))})


class RetryView(DecisionView):
    """Retry a failed job.

    The delay grows each time. Permanent errors cannot be retried; the answer carries their code.
    """

    decide = staticmethod(decisions.retry)
    errors: ClassVar = {
        **OneJobView.errors,
        **NO_RULES,
        409: {
            "MOVE_REFUSED": "The job is in another state; `state` names it.",
            Code.RETRY_LIMIT_REACHED.value: "It has been retried too often.",
            Code.HANDOVER_UNKNOWN.value: "The saw may have cut it. Ask there, then `confirm-cut` or `hand-over`.",
            **{code.value: f"{code.label}: a retry would fail again." for code in sorted(PERMANENT_CODES)},
        },
    }


class ApproveView(DecisionView):
    """Approve a held job.

    Fix the cause named by its error code first.
    """

    decide = staticmethod(decisions.approve)
    errors: ClassVar = {**OneJobView.errors, 409: {Code.JOB_NOT_IN_HOLD.value: "The job is not on HOLD."}}


class CancelView(DecisionView):
    """Cancel a job before the saw has it.

    It ends as FAILED with E_CANCELLED and the reason.
    """

    decide = staticmethod(decisions.cancel)
    errors: ClassVar = {
        **OneJobView.errors,
        409: {
            "MOVE_REFUSED": "The job is in another state (see `state`), or the saw has taken a file of it.",
            "JOB_IS_BUSY": "A runner is working on it; try again after `Retry-After`.",
        },
    }


class HandoverView(DecisionView):
    errors: ClassVar = {
        **OneJobView.errors,
        409: {
            "MOVE_REFUSED": "The job is in another state; `state` names it.",
            "HANDOVER_KNOWN": "It failed with another error; there is nothing to find out at the saw.",
        },
    }


class ConfirmCutView(HandoverView):
    """Confirm that the saw has cut a job.

    For jobs with E_HANDOVER_UNKNOWN, after someone asked at the saw. The job is DONE. If it has several files, those
    that the saw did not get are delivered first.
    """

    decide = staticmethod(decisions.confirm_cut)


class HandOverView(HandoverView):
    """Hand a job over to the saw again.

    For jobs with E_HANDOVER_UNKNOWN, after someone asked at the saw: it was not cut. The same solution is delivered
    under a new name. It does not count as a retry.
    """

    decide = staticmethod(decisions.hand_over)


class CutByHandView(OneJobView):
    errors: ClassVar = {
        **OneJobView.errors,
        409: {
            "MOVE_REFUSED": "The job is in another state; `state` names it.",
            "HAS_A_SAW": "A saw takes it, and only the saw ends it.",
        },
        422: {Code.VALIDATION.value: "There are fewer boards, more are cut already, or the time is not possible."},
    }

    @endpoint(messages.JobDecided, body=messages.BoardsCut)
    def post(self, request: Request, body: messages.BoardsCut, pk: str) -> Response:
        """Record that people cut a job without a saw.

        In a shop whose rules have `"cutBy": "hand"`: all its boards, or how many so far. The job is DELIVERED with the
        first board and DONE with the last.
        """
        with for_reason(body.reason or ""):
            job = by_hand.cut_by_hand(read_id(pk), by=body.by or "", at=body.at, boards=body.boards)
        return Response({"job": present_job(job)})


class CancelRestView(DecisionView):
    """Cancel what people have not cut yet.

    For jobs in DELIVERED without a saw. The job is DONE, with E_CANCELLED: its first boards, as many as are recorded,
    are booked and charged by their share, and the others go back to the stock.
    """

    decide = staticmethod(half_cut.cancel_rest)
    errors: ClassVar = {
        **OneJobView.errors,
        **NO_RULES,
        409: {
            **CutByHandView.errors[409],
            "NOTHING_CUT": "No board is recorded as cut. Cancel it as a whole.",
        },
    }


class XmlView(OneJobView):
    @endpoint(
        ApiResponse(
            "The solution.",
            media={"application/xml": {"type": "string"}, "application/zip": {"type": "string", "format": "binary"}},
            headers={"Content-Disposition": "The file's name."},
        ),
        errors={409: {"NO_SOLUTION": "There is no solution, or not yet."}},
    )
    def get(self, request: Request, pk: str) -> HttpResponse:
        """Download the solution.

        As collected; several files are packed into a ZIP.
        """
        job = decisions.find(read_id(pk))
        files = list(job.solution_files.order_by("name")) if job.xml_sha256 else []
        if not files:
            raise ApiError(409, "NO_SOLUTION", f"{job} has no solution: it is {job.status}.", state=job.status)
        if len(files) == 1:
            return download(files[0].name, bytes(files[0].content), "application/xml")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.writestr(file.name, bytes(file.content))
        return download(f"{job.pk}.zip", packed.getvalue(), "application/zip")


class CustomersView(CuttingView):
    @endpoint(
        responses={
            200: ApiResponse("The existing customer.", messages.CustomerFound),
            201: ApiResponse("The new customer.", messages.CustomerFound),
        },
        body=NewCustomer,
        scope=KeyScope.ENQUEUE,
        errors=INVALID_ORDER,
    )
    def post(self, request: Request, new: NewCustomer) -> Response:
        """Add a customer.

        An existing customer with this phone number is returned unchanged.
        """
        customer, is_new = Customer.objects.get_or_create(phone=new.phone, defaults=new.model_dump(exclude_none=True))
        return Response({"customer": present(customer, messages.CustomerShown)}, status=201 if is_new else 200)


class LookupView(CuttingView):
    @endpoint(
        messages.CustomerFound,
        query=CustomerLookup,
        errors={**INVALID_ORDER, 404: {"NOT_FOUND": "No customer has this phone number."}},
    )
    def get(self, request: Request, query: CustomerLookup) -> Response:
        """Find a customer by phone."""
        customer = Customer.objects.filter(phone=query.phone).first()
        if customer is None:
            raise NotFound("No customer has this phone number.")
        return Response({"customer": present(customer, messages.CustomerShown)})


def listed_jobs(query: messages.CuttingJobsQuery) -> JobQuerySet:
    jobs: JobQuerySet = newest(Job.objects.defer("payload", "figures"), query.state)
    return jobs.filter(order_id=query.order_id) if query.order_id else jobs


def job_stored(job: Job, similar: list[Job], *, is_known: bool) -> Response:
    body = {"job": present_job(job), "deduplicated": is_known}
    return Response(
        {**body, "similar_to": present_similar(similar)},
        status=200 if is_known else 201,
    )


def download(name: str, content: bytes, content_type: str) -> HttpResponse:
    """Return a file as an attachment, never inline: it comes from a folder that other programs write to."""
    # Those programs also chose its name, which may contain quotes and line breaks.
    disposition = content_disposition_header(as_attachment=True, filename=UNSAFE_CHARS.sub("_", name)) or ""
    headers = {"Content-Disposition": disposition, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=content_type, headers=headers)


def read_id(text: str) -> UUID:
    """Return the id from the URL; a malformed id is answered like an unknown one."""
    try:
        return UUID(text)
    except ValueError:
        raise ApiError(404, Code.JOB_NOT_FOUND, f"There is no job {text[:64]}.") from None


class FiguresFileView(CuttingView):
    @endpoint(
        ApiResponse(
            "A line for each job, the first finished first.",
            media={"text/csv": {"type": "string"}},
            headers={"Content-Disposition": "The file's name."},
        ),
        query=FinishedSpan,
    )
    def get(self, request: Request, query: FinishedSpan) -> StreamingHttpResponse:
        """Download figures and amounts as CSV.

        Of the jobs that were finished in a time span. `prices` is `fixed` for amounts that were stored when the job was
        finished, and `today` for jobs without a stored total, which are by the prices in force.
        """
        return csv_response("figures", export_lines(Job.objects.finished_between(query.start, query.end)))


def present_job(job: Job, shape: type = JobShown, **values: object) -> dict[str, object]:
    columns = {"id": str(job.pk), "state": job.status, "priority": Priority(job.priority).api_name}
    columns["due_on"] = job.due_on.isoformat() if job.due_on else None  # type: ignore[assignment]
    columns["error_message"] = english(job.error_message)
    return present(job, shape, claimed=job.claim_token is not None, warnings=present_warnings(job), **columns, **values)


def present_similar(jobs: list[Job]) -> list[SimilarJob]:
    return [present(job, SimilarJob, job_id=str(job.pk)) for job in jobs]


def present_warnings(job: Job) -> list[JobWarning]:
    if not job.warning_code:
        return []
    details = job.warning_details or {}
    parts, beyond = details.get("parts", []), details.get("beyond", 0)
    names = ", ".join(parts) + (f" and {beyond} more" if beyond else "")
    message = f"Larger than the plate of {details.get('plate', '?')}: {names}."
    return [{"code": WarningCode(job.warning_code), "message": message, "parts": parts}]


def _audit_line(event: Event) -> AuditLine:
    texts = {"message": english(event.message), "details": english_values(event.details)}
    return present(event, AuditLine, job_id=str(event.object_id), **texts)


def present_job_detail(job: Job) -> dict[str, object]:
    solution = job.solution if job.xml_sha256 else None
    audit = [_audit_line(event) for event in Event.objects.history(job)]
    values = {"solution": solution, "patterns": boards_of(job), "figures": figures_json(job)}
    return present_job(job, JobWhole, **values, audit=audit)
