"""OpenAPI descriptions of the cutting API."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter

from kilit.api import openapi
from kilit.api.openapi import VALIDATION, ApiResponse, Codes, describe
from orchestrator.errors import PERMANENT_CODES, Code
from orchestrator.schemas import jobs as messages
from orchestrator.schemas.orders import CustomerLookup, NewCustomer, Order

operation = partial(openapi.operation, tag="Cutting jobs")
ID = OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The job's id.")
MAY_NOT_VIEW = {403: {"FORBIDDEN": "Your role does not allow this."}}
NO_JOB = {404: {Code.JOB_NOT_FOUND.value: "There is no such job."}}
INVALID_ORDER = {422: {Code.VALIDATION.value: "`faults` lists every error with its path."}}
NO_RULES = {503: {Code.UNKNOWN.value: "The rules cannot be read.", Code.TEMPLATE_INVALID.value: "The same."}}


EXAMPLE = {
    "order_id": "S-1001",
    "customer_phone": "0555 123 45 67",
    "opti_mode": "C",
    "parts": [
        {
            "id": "g1",
            "part_type": "GOVDE",
            "material_code": "MAT-01",
            "length_cm": 120.5,
            "width_cm": 40,
            "quantity": 2,
            "grain": 1,
            "color": "Beyaz",
            "thickness_mm": 18,
            "edge_up": "1mm",
        }
    ],
}

jobs = describe(
    post=operation(
        "Send an order",
        description="Sending the same order again returns the same job; to have it cut again, send a new `revision`.",
        body=Order,
        examples={"a cupboard": EXAMPLE},
        responses={
            200: ApiResponse("The order was sent before.", messages.JobStored),
            201: ApiResponse("The new job.", messages.JobStored),
        },
        errors=[INVALID_ORDER, NO_RULES],
    ),
    get=operation(
        "List jobs",
        description="Newest first. Pass `next_cursor` as `cursor` for the next page; pages are stable while jobs move.",
        query=messages.CuttingJobsQuery,
        responses={200: ApiResponse("A page.", messages.JobPage)},
        errors=[VALIDATION, MAY_NOT_VIEW],
    ),
)

job = describe(
    get=operation(
        "Get a job with its audit trail",
        parameters=[ID],
        responses={200: ApiResponse("The job.", messages.JobDetail)},
        errors=[MAY_NOT_VIEW, NO_JOB],
    )
)


def decision(
    summary: str, *, description: str, conflicts: Codes, more: Mapping[int, Codes] | None = None, **options: Any
) -> Any:
    return describe(
        post=operation(
            summary,
            description=description,
            parameters=[ID],
            body=messages.DecisionReason,
            examples={"with a reason": {"reason": "The customer called."}},
            responses={200: ApiResponse("The job after the change.", messages.JobDecided)},
            errors=[VALIDATION, NO_JOB, {409: conflicts}, more or {}],
            **options,
        )
    )


MOVE_REFUSED = {"MOVE_REFUSED": "The job is in another state; `state` names it."}
retry = decision(
    "Retry a failed job",
    description="The delay grows each time. Permanent errors cannot be retried; the answer carries their code.",
    conflicts={
        **MOVE_REFUSED,
        Code.RETRY_LIMIT_REACHED.value: "It has been retried too often.",
        **{code.value: f"{code.label}: a retry would fail again." for code in sorted(PERMANENT_CODES)},
    },
    more=NO_RULES,
)
approve = decision(
    "Approve a held job",
    description="Fix the cause named by its error code first.",
    conflicts={Code.JOB_NOT_IN_HOLD.value: "The job is not on HOLD."},
)
cancel = decision(
    "Cancel a job before the saw has it",
    description="It ends as FAILED with E_CANCELLED and the reason.",
    conflicts={
        "MOVE_REFUSED": "The job is in another state (see `state`), or the saw has taken a file of it.",
        "JOB_IS_BUSY": "A runner is working on it; try again after `Retry-After`.",
    },
    may_retry_after=[409],
)

xml = describe(
    get=operation(
        "Download the solution",
        description="As collected; several files are packed into a ZIP.",
        parameters=[ID],
        responses={
            200: ApiResponse(
                "The solution.",
                media={
                    "application/xml": {"type": "string"},
                    "application/zip": {"type": "string", "format": "binary"},
                },
                headers={"Content-Disposition": "The file's name."},
            )
        },
        errors=[MAY_NOT_VIEW, NO_JOB, {409: {"NO_SOLUTION": "There is no solution, or not yet."}}],
    )
)

customers = describe(
    post=operation(
        "Add a customer",
        description="An existing customer with this phone number is returned unchanged.",
        body=NewCustomer,
        examples={"a customer": {"phone": "0555 123 45 67", "name": "Ayşe Yılmaz"}},
        responses={
            200: ApiResponse("The existing customer.", messages.CustomerFound),
            201: ApiResponse("The new customer.", messages.CustomerFound),
        },
        errors=[INVALID_ORDER],
    )
)

lookup = describe(
    get=operation(
        "Find a customer by phone",
        query=CustomerLookup,
        responses={200: ApiResponse("The customer.", messages.CustomerFound)},
        errors=[MAY_NOT_VIEW, INVALID_ORDER, {404: {"NOT_FOUND": "No customer has this phone number."}}],
    )
)
