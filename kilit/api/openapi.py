"""How an endpoint is described for OpenAPI; kilit/api/schema.py builds the document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_view
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from kilit.api.json_schema import Schema, without_titles
from kilit.api.messages import FieldError, Message

Codes = Mapping[str, str]  # each error code of a status, and when it is returned

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Id = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]

VALIDATION = {400: {"VALIDATION": "Some fields are invalid; `fields` lists them."}}
RETRY_AFTER = "Seconds to wait before retrying."


# The names of these two classes are names of components in docs/openapi.yaml, so they stay.
class RefusalDetail(TypedDict):
    """A code for machines, a message for people, and details that depend on the code."""

    code: str
    message: str
    fields: NotRequired[list[FieldError]]
    faults: NotRequired[list[str]]
    faults_beyond: NotRequired[int]
    id: NotRequired[str]
    job_id: NotRequired[str]
    verb: NotRequired[str]
    state: NotRequired[str]
    allowed: NotRequired[list[str]]
    size: NotRequired[int]


class Refusal(TypedDict):
    """Every error has this shape."""

    error: RefusalDetail


@dataclass(frozen=True)
class ApiResponse:
    """A successful response: JSON of a Python type, or other media types with their schemas."""

    description: str
    type: Any = None
    media: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    optional_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Endpoint:
    responses: Mapping[int, ApiResponse]
    errors: Mapping[int, Codes] = field(default_factory=dict)
    may_retry_after: frozenset[int] = frozenset()  # error statuses that sometimes carry Retry-After


def operation(
    summary: str,
    *,
    tag: str,
    responses: Mapping[int, ApiResponse],
    errors: Sequence[Mapping[int, Codes]] = (),
    may_retry_after: Sequence[int] = (),
    description: str = "",
    query: type[Message] | None = None,
    body: type[Message] | None = None,
    examples: Mapping[str, Any] | None = None,
    parameters: Sequence[Any] = (),
    security: Sequence[dict[str, list[str]]] | None = None,
    deprecated: bool = False,
) -> Any:
    """Describe one method of a view; the schema adds the errors that all endpoints share."""
    merged: dict[int, dict[str, str]] = {}
    for by_status in errors:
        for status, codes in by_status.items():
            merged.setdefault(status, {}).update(codes)
    return extend_schema(
        summary=summary,
        description=description or None,
        tags=[tag],
        parameters=[*query_parameters(query), *parameters] if query else list(parameters),
        request=body,
        responses={},
        auth=security,  # type: ignore[arg-type]  # alternatives, as OpenAPI writes them
        deprecated=deprecated or None,
        examples=[OpenApiExample(name, value, request_only=True) for name, value in (examples or {}).items()],
        extensions={"x-endpoint": Endpoint(responses, merged, frozenset(may_retry_after))},
    )


describe = extend_schema_view


def query_parameters(query: type[Message]) -> list[OpenApiParameter]:
    schema = query.model_json_schema()
    found = []
    for name, value in schema["properties"].items():
        description = value.pop("description", "")
        shape = without_titles(value["anyOf"][0] if "anyOf" in value else value)  # null stands for absent
        required = name in schema.get("required", ())
        found.append(OpenApiParameter(name, shape, required=required, description=description))
    return found
