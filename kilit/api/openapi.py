"""How an endpoint is described for OpenAPI; kilit/api/schema.py builds the document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NotRequired, TypeVar, cast

from drf_spectacular.utils import OpenApiParameter
from typing_extensions import TypedDict

from kilit.api.json_schema import REFERENCE, Schema, without_titles
from kilit.api.messages import FieldError, Message

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
    """What a method of a view takes and answers; its summary and description are its docstring, or its class's."""

    answers: Mapping[int, ApiResponse]
    errors: Errors = field(default_factory=dict)
    body: type[Message] | None = None
    query: type[Message] | None = None
    parameters: Sequence[OpenApiParameter] = ()
    scope: str = ""  # that a key needs
    may_retry_after: Sequence[int] = ()  # error statuses that sometimes carry Retry-After


def endpoint(answer: Any = None, *, reads: bool = True, **described: Any) -> Callable[[Method], Method]:
    """Describe a method of a view, and hand it the request's body or query as a message, unless `reads` is false.

    `answer` is the type of a 200; `answers` lists several. The schema adds the errors that all endpoints share. A key
    needs `scope`: by default `read` for a GET, and `operate` for everything else.
    """
    if answer is not None:
        described["answers"] = {200: answer if isinstance(answer, ApiResponse) else ApiResponse(answer.__doc__, answer)}

    def decorate(method: Method) -> Method:
        found = ApiEndpoint(**{"scope": READ if method.__name__ == "get" else OPERATE, **described})

        @wraps(method)
        def with_message(self: Any, request: Any, **options: Any) -> Any:
            if found.body:
                return method(self, request, found.body.read({} if request.data is None else request.data), **options)
            return method(self, request, found.query and found.query.read(request.query_params.dict()), **options)

        decorated: Any = with_message if reads and (found.body or found.query) else method
        decorated.endpoint = found
        return cast("Method", decorated)

    return decorate


def query_parameters(query: type[Message]) -> list[OpenApiParameter]:
    schema = query.model_json_schema(ref_template=REFERENCE)
    found = []
    for name, value in schema["properties"].items():
        description = value.pop("description", "")
        shape = without_titles(value["anyOf"][0] if "anyOf" in value else value)  # null stands for absent
        required = name in schema.get("required", ())
        found.append(OpenApiParameter(name, shape, required=required, description=description))
    return found
