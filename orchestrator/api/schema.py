"""OpenAPI descriptions of the cutting API; the schema of an order is generated from its field readers."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from kilit.api import openapi
from kilit.api.openapi import VALIDATION, ApiResponse, Codes, Component, Schema, describe
from orchestrator.api import answers
from orchestrator.errors import PERMANENT_CODES, Code
from orchestrator.orders.customers import FIELDS
from orchestrator.orders.fields import FieldReader, OrderFieldError, RequiredFieldError
from orchestrator.orders.order import MOST_PARTS, ORDER_FIELDS, PART_FIELDS, PHONE, PLATE_FIELDS
from orchestrator.states import JobState

operation = partial(openapi.operation, tag="Cutting jobs")
ID = OpenApiParameter("id", UUID, OpenApiParameter.PATH, description="The job's id.")
MAY_NOT_VIEW = {403: {"FORBIDDEN": "Your role does not allow this."}}
NO_JOB = {404: {Code.JOB_NOT_FOUND.value: "There is no such job."}}
INVALID_ORDER = {422: {Code.VALIDATION.value: "`faults` lists every error with its path."}}
NO_RULES = {503: {Code.UNKNOWN.value: "The rules cannot be read.", Code.TEMPLATE_INVALID.value: "The same."}}


class ListSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=JobState.choices, required=False)
    order_id = serializers.CharField(required=False, max_length=200)
    cursor = serializers.CharField(required=False, max_length=64)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class ReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=1000)


def is_required(read: FieldReader) -> bool:
    try:
        read(None)
    except OrderFieldError as error:
        return isinstance(error, RequiredFieldError)
    return False


def object_of(readers: Mapping[str, FieldReader], *, defaulted: tuple[str, ...] = (), **beside: Any) -> Schema:
    """Return the JSON Schema of an object with these readers; for optional fields null is the same as absent."""
    shapes = {name: dict(read.shape) for name, read in readers.items()}
    for name in defaulted:
        shapes[name]["type"] = [shapes[name]["type"], "null"]
        if "enum" in shapes[name]:
            shapes[name]["enum"] = [*shapes[name]["enum"], None]
    return {
        "type": "object",
        "properties": {**shapes, **beside},
        "required": [name for name, read in readers.items() if is_required(read) and name not in defaulted],
        "additionalProperties": False,
    }


PART = Component("Part", object_of(PART_FIELDS))
PARTS = {
    "type": "array",
    "description": "The ids are unique within the order.",
    "items": PART,
    "minItems": 1,
    "maxItems": MOST_PARTS,
}
PLATE = {"anyOf": [Component("PlateSize", object_of(PLATE_FIELDS)), {"type": "null"}]}
ORDER_SCHEMA = object_of(ORDER_FIELDS, defaulted=("opti_mode", "revision"), plate_size=PLATE, parts=PARTS)
ORDER_SCHEMA["required"].append("parts")
ORDER = Component("Order", ORDER_SCHEMA)
CUSTOMER = Component("NewCustomer", object_of(FIELDS))
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
        body=ORDER,
        examples={"a cupboard": EXAMPLE},
        responses={
            200: ApiResponse("The order was sent before.", answers.JobStored),
            201: ApiResponse("The new job.", answers.JobStored),
        },
        errors=[INVALID_ORDER, NO_RULES],
    ),
    get=operation(
        "List jobs",
        description="Newest first. Pass `next_cursor` as `cursor` for the next page; pages are stable while jobs move.",
        query=ListSerializer,
        responses={200: ApiResponse("A page.", answers.JobPage)},
        errors=[VALIDATION, MAY_NOT_VIEW],
    ),
)

job = describe(
    get=operation(
        "Get a job with its audit trail",
        parameters=[ID],
        responses={200: ApiResponse("The job.", answers.JobDetail)},
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
            body=ReasonSerializer,
            examples={"with a reason": {"reason": "The customer called."}},
            responses={200: ApiResponse("The job after the change.", answers.JobDecided)},
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
        body=CUSTOMER,
        examples={"a customer": {"phone": "0555 123 45 67", "name": "Ayşe Yılmaz"}},
        responses={
            200: ApiResponse("The existing customer.", answers.CustomerFound),
            201: ApiResponse("The new customer.", answers.CustomerFound),
        },
        errors=[INVALID_ORDER],
    )
)

lookup = describe(
    get=operation(
        "Find a customer by phone",
        parameters=[OpenApiParameter("phone", dict(PHONE.shape), required=True, description="In any format.")],
        responses={200: ApiResponse("The customer.", answers.CustomerFound)},
        errors=[MAY_NOT_VIEW, INVALID_ORDER, {404: {"NOT_FOUND": "No customer has this phone number."}}],
    )
)
