"""How an endpoint is described for OpenAPI; kilit/api/schema.py builds the document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, Literal, NotRequired, TypeVar, cast

from drf_spectacular.utils import OpenApiParameter
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from kilit.api.input_model import FieldError, InputModel

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"
# Stores a component by its name, unless it is known.
Store = Callable[[str, Schema], object]
Codes = Mapping[str, str]  # each error code of a status, and when it is returned
Errors = Mapping[int, Codes]
Method = TypeVar("Method", bound=Callable[..., Any])

VALIDATION = {"VALIDATION": "Some fields are invalid; `fields` lists them."}
UNKNOWN = {
    "OUTCOME_UNKNOWN": "The connection to the database was lost, and it is not known whether the request was stored. "
    "Sending it again with the same keys is safe."
}
RETRY_AFTER = "Seconds to wait before retrying."
READ, OPERATE = "read", "operate"  # scopes of keys, as in kilit.access.key_scopes


def schema_of(hint: Any, store: Store, *, mode: Literal["validation", "serialization"] = "serialization") -> Schema:
    """Return the schema of a type; models, TypedDicts and enums in it become components."""
    listed = listed_schema(hint, mode)
    for name, component in listed.get("$defs", {}).items():
        store(name, without_titles(component))
    schema: Schema = without_titles(listed["items"])
    return schema


@cache
def listed_schema(hint: Any, mode: Literal["validation", "serialization"]) -> Schema:
    """Return the schema of a list of a type; each error of each operation asks for the same one.

    Of a list, because pydantic makes no component of the outermost type.
    """
    return TypeAdapter(list[hint]).json_schema(ref_template=REFERENCE, mode=mode)


def without_titles(schema: object) -> Any:
    """Leave out the titles that pydantic makes of names; a default is data, which may have a `title` of its own."""
    if isinstance(schema, dict):
        return {
            name: value if name == "default" else without_titles(value)
            for name, value in schema.items()
            if name != "title" or not isinstance(value, str)
        }
    return [without_titles(value) for value in schema] if isinstance(schema, list) else schema


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
    needed_scope: NotRequired[str]
    key_scopes: NotRequired[list[str]]
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
class ApiEndpoint:
    """What a method of a view takes and returns; its summary and description are its docstring, or its class's."""

    responses: Mapping[int, ApiResponse]
    errors: Errors = field(default_factory=dict)
    body: type[InputModel] | None = None
    query: type[InputModel] | None = None
    parameters: Sequence[OpenApiParameter] = ()
    scope: str = ""  # that a key needs
    may_retry_after: Sequence[int] = ()  # error statuses that sometimes carry Retry-After


def endpoint(response: Any = None, *, reads: bool = True, **described: Any) -> Callable[[Method], Method]:
    """Describe a method of a view, and hand it the request's body or query as an InputModel, unless `reads` is false.

    `response` is the type of a 200; `responses` lists several. The schema adds the errors that all endpoints share.
    A key needs `scope`: by default `read` for a GET, and `operate` for everything else.
    """
    if response is not None:
        is_described = isinstance(response, ApiResponse)
        described["responses"] = {200: response if is_described else ApiResponse(response.__doc__, response)}

    def decorate(method: Method) -> Method:
        described_endpoint = ApiEndpoint(**{"scope": READ if method.__name__ == "get" else OPERATE, **described})
        body, query = described_endpoint.body, described_endpoint.query

        @wraps(method)
        def with_input(self: Any, request: Any, **options: object) -> object:
            if body:
                return method(self, request, body.read({} if request.data is None else request.data), **options)
            return method(self, request, query and query.read(request.query_params.dict()), **options)

        decorated: Any = with_input if reads and (body or query) else method
        decorated.endpoint = described_endpoint
        return cast("Method", decorated)

    return decorate


def query_parameters(query: type[InputModel]) -> list[OpenApiParameter]:
    schema = query.model_json_schema(ref_template=REFERENCE)
    parameters = []
    for name, value in schema["properties"].items():
        description = value.pop("description", "")
        shape = without_titles(value["anyOf"][0] if "anyOf" in value else value)  # null stands for absent
        required = name in schema.get("required", ())
        parameters.append(OpenApiParameter(name, shape, required=required, description=description))
    return parameters
