"""The endpoints of jobs and customers."""

import io
import zipfile
from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.errors import ApiError
from kilit.lock.audit import for_reason
from orchestrator.api import presenters, schema
from orchestrator.api.access import QueueView
from orchestrator.errors import Code
from orchestrator.models import Customer
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order
from orchestrator.schemas.jobs import CuttingJobsQuery, DecisionReason
from orchestrator.schemas.orders import UNSAFE_CHARS, CustomerLookup, NewCustomer
from orchestrator.workflow import decisions


@schema.jobs
class JobsView(QueueView):
    def post(self, request: Request) -> Response:
        order = read_order(request.data, default_mode=decisions.require_rules().opti_mode_default)
        body = cast("dict[str, Any]", request.data)  # read_order has rejected anything else
        job, is_known = enqueue(order, mode_is_given=body.get("opti_mode") is not None)
        return Response({"job": presenters.present_job(job), "deduplicated": is_known}, status=200 if is_known else 201)

    def get(self, request: Request) -> Response:
        given = {name: value for name, value in request.query_params.items() if value}
        return Response(presenters.job_page(CuttingJobsQuery.read(given)))


@schema.job
class JobView(QueueView):
    def get(self, request: Request, pk: str) -> Response:
        return Response({"job": presenters.present_job_detail(decisions.find(read_id(pk)))})


class DecisionView(QueueView):
    verb = ""

    def post(self, request: Request, pk: str) -> Response:
        reason = DecisionReason.read(request.data or {}).reason or ""
        decide: decisions.Decision = getattr(decisions, self.verb)
        with for_reason(reason):
            return Response({"job": presenters.present_job(decide(read_id(pk)))})


@schema.retry
class RetryView(DecisionView):
    verb = "retry"


@schema.approve
class ApproveView(DecisionView):
    verb = "approve"


@schema.cancel
class CancelView(DecisionView):
    verb = "cancel"


@schema.xml
class XmlView(QueueView):
    def get(self, request: Request, pk: str) -> HttpResponse:
        """Return the solution as collected; several files are packed into a ZIP."""
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


@schema.customers
class CustomersView(QueueView):
    def post(self, request: Request) -> Response:
        new = NewCustomer.read(request.data)
        customer, is_new = Customer.objects.get_or_create(phone=new.phone, defaults={"name": new.name})
        return Response({"customer": presenters.present_customer(customer)}, status=201 if is_new else 200)


@schema.lookup
class LookupView(QueueView):
    def get(self, request: Request) -> Response:
        phone = CustomerLookup.read(request.query_params.dict()).phone
        customer = Customer.objects.filter(phone=phone).first()
        if customer is None:
            raise NotFound("No customer has this phone number.")
        return Response({"customer": presenters.present_customer(customer)})


def download(name: str, content: bytes, content_type: str) -> HttpResponse:
    """Return a file as an attachment, never inline: it comes from a folder that other programs write to."""
    response = HttpResponse(content, content_type=content_type)
    # Those programs also chose its name, which may contain quotes and line breaks.
    disposition = content_disposition_header(as_attachment=True, filename=UNSAFE_CHARS.sub("_", name))
    response.headers["Content-Disposition"] = disposition or ""
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def read_id(text: str) -> UUID:
    """Return the id from the URL; a malformed id is answered like an unknown one."""
    try:
        return UUID(text)
    except ValueError:
        raise ApiError(404, Code.JOB_NOT_FOUND, f"There is no job {text[:64]}.") from None
