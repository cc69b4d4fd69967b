"""How a queue describes an endpoint for OpenAPI; kilit/api/schema.py makes the schema of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view

View = TypeVar("View", bound=type)
Schema = dict[str, Any]
Codes = Mapping[str, str]  # each code of a refusal, and when it is answered


class Said(dict[str, Any]):
    """What JSON Schema says of a value beyond its type; Python wants it to have a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


Time = Annotated[str, Said(format="date-time")]
Id = Annotated[str, Said(format="uuid")]

VALIDATION = {400: {"VALIDATION": "A field is wrong; `fields` names each."}}
SECONDS = "Seconds until it is worth asking again."


class FieldFault(TypedDict):
    """What is wrong with a field; the path is that of the field, as in `parts.0.quantity`."""

    field: str
    message: str


class RefusalDetail(TypedDict):
    """A code for machines, a sentence for people, and the facts that go with the code."""

    code: str
    message: str
    fields: NotRequired[list[FieldFault]]
    faults: NotRequired[list[str]]
    faults_beyond: NotRequired[int]
    id: NotRequired[str]
    job_id: NotRequired[str]
    verb: NotRequired[str]
    state: NotRequired[str]
    allowed: NotRequired[list[str]]
    size: NotRequired[int]


class Refusal(TypedDict):
    """The one shape of every refusal."""

    error: RefusalDetail


@dataclass(frozen=True, eq=False)
class Component:
    """A schema with a name; it may hold other components and Python types, wherever a schema may stand."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Answer:
    """What is answered under a status: words, a Python type for JSON or schemas by media type, and headers."""

    about: str
    shape: Any = None
    media: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    sometimes: Mapping[str, str] = field(default_factory=dict)  # headers that are not always there


@dataclass(frozen=True)
class Described:
    """What an endpoint answers and refuses."""

    answers: Mapping[int, Answer]
    refusals: Mapping[int, Codes] = field(default_factory=dict)
    may_wait: frozenset[int] = frozenset()  # statuses of which some, not all, say when to ask again


def operation(
    summary: str,
    *,
    tag: str,
    answers: Mapping[int, Answer],
    refusals: Sequence[Mapping[int, Codes]] = (),
    may_wait: Sequence[int] = (),
    about: str = "",
    query: Any = None,
    body: Any = None,
    examples: Mapping[str, Any] | None = None,
    parameters: Sequence[Any] = (),
    security: Sequence[dict[str, list[str]]] | None = None,
    deprecated: bool = False,
) -> Any:
    """Describe one method of a view; refusals that every endpoint shares are added by the schema itself."""
    merged: dict[int, dict[str, str]] = {}
    for refused in refusals:
        for status, codes in refused.items():
            merged.setdefault(status, {}).update(codes)
    told = Described(answers, merged, frozenset(may_wait))
    return extend_schema(
        summary=summary,
        description=about or None,
        tags=[tag],
        parameters=[*([query] if query else []), *parameters],
        request=body,
        responses={},
        auth=security,  # type: ignore[arg-type]  # alternatives, as OpenAPI writes them
        deprecated=deprecated or None,
        examples=[OpenApiExample(name, value, request_only=True) for name, value in (examples or {}).items()],
        extensions={"x-described": told},
    )


def describe(**methods: Any) -> Callable[[View], View]:
    return extend_schema_view(**methods)
