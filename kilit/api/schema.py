"""Makes the schema of what the queues describe, and adds what every endpoint shares."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from kilit.api import schemes
from kilit.api.json_schema import Keep, filled, shape_of
from kilit.api.openapi import SECONDS, Answer, Codes, Component, Described, Refusal, Schema
from kilit.api.probes import PROBES

REQUEST_ID = {"description": "Finds the request in the log.", "schema": {"type": "string"}}
JSON = "application/json"
BODY: dict[int, Codes] = {
    411: {"LENGTH_REQUIRED": "The body came without its length."},
    413: {"TOO_LARGE": "The body is larger than 5 MB."},
    415: {"UNSUPPORTED_MEDIA_TYPE": "The body is not JSON."},
}


class ApiSchema(AutoSchema):
    """The schema of one endpoint."""

    def get_operation(self, *args: Any, **options: Any) -> Schema | None:
        """Write down the answers, then the refusals: its own and those that all have."""
        operation = super().get_operation(*args, **options)
        if operation is None:
            return None
        told: Described = operation.pop("x-described")
        operation["responses"] = responses(told, self.shared(operation), self.keep)
        return operation

    def get_operation_id(self) -> str:
        """Name it by its address, which nobody changes lightly."""
        return re.sub(r"\W+", "_", f"{self.method.lower()}{self.path}").strip("_")

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # every view says itself what it answers

    def _get_request_for_media_type(self, serializer: Any, direction: Any = "request") -> Any:
        if isinstance(serializer, Component):
            return shape_of(serializer, self.keep), True
        return super()._get_request_for_media_type(serializer, direction)  # type: ignore[no-untyped-call]

    def shared(self, operation: Schema) -> dict[int, Codes]:
        """Return the refusals that come of how it is reached, not of what it does."""
        authenticators = self.view.get_authenticators()
        unreadable = "The address contains a NUL character" + (
            ", or the body is not JSON." if "requestBody" in operation else "."
        )
        found: dict[int, Codes] = {400: {"BAD_REQUEST": unreadable}}
        if operation.get("security"):
            found[401] = {"UNAUTHENTICATED": "Nothing that opens this was sent, or it is unknown, expired or revoked."}
        if self.method == "POST" and any(getattr(one, "checks_csrf", False) for one in authenticators):
            found[403] = {"FORBIDDEN": "The role does not allow it, or the CSRF token is missing."}
        if not hasattr(self.view.content_negotiation_class, "takes_any"):
            found[406] = {"NOT_ACCEPTABLE": f"`Accept` does not allow {JSON}."}
        if "requestBody" in operation:
            found |= BODY
        if any(getattr(one, "is_rate_limited", False) for one in authenticators):
            found[429] = {"TOO_MANY_REQUESTS": "The key was used too often within this minute."}
        found[503] = {"UNAVAILABLE": "The database does not answer; nothing was changed."}
        return found

    def keep(self, name: str, key: Any, make: Callable[[], Schema]) -> Schema:
        """Store a named schema once, and return the reference to it."""
        return keep_in(self.registry, name, key, make)


def keep_in(registry: ComponentRegistry, name: str, key: Any, make: Callable[[], Schema]) -> Schema:
    """Store a named schema once, and return the reference to it."""
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=key)
    if component not in registry:
        component.schema = make()
        registry.register_on_missing(component)
    return component.ref


def responses(told: Described, shared: Mapping[int, Codes], keep: Keep) -> Schema:
    refused = {
        status: {**shared.get(status, {}), **told.refusals.get(status, {})} for status in {*shared, *told.refusals}
    }
    found = {status: answered(answer, keep) for status, answer in told.answers.items()}
    for status, codes in refused.items():
        found[status] = refusal(status, codes, keep, may_wait=status in told.may_wait)
    return {str(status): found[status] for status in sorted(found)}


def answered(answer: Answer, keep: Keep) -> Schema:
    """Return what is answered when nothing is wrong."""
    content = {JSON: {"schema": shape_of(answer.shape, keep)}} if answer.shape is not None else {}
    content |= {media: {"schema": filled(schema, keep)} for media, schema in answer.media.items()}
    headers = {name: header(about) for name, about in answer.headers.items()}
    headers |= {name: {**header(about), "required": False} for name, about in answer.sometimes.items()}
    return {"description": answer.about, "headers": {**headers, **ALWAYS}, **({"content": content} if content else {})}


def refusal(status: int, codes: Codes, keep: Keep, *, may_wait: bool) -> Schema:
    """Return a refusal: the one shape, with the codes that may stand in it."""
    lines = [f"- `{code}`: {when}" for code, when in codes.items()]
    coded = {"properties": {"error": {"properties": {"code": {"enum": sorted(codes)}}}}}
    headers = {}
    if status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = header("What to send.")
    if may_wait or status in (429, 503):
        headers["Retry-After"] = {**header(SECONDS), "required": not may_wait}
    return {
        "description": "\n".join(lines),
        "headers": {**headers, **ALWAYS},
        "content": {JSON: {"schema": {"allOf": [shape_of(Refusal, keep), coded]}}},
    }


def header(about: str) -> Schema:
    """Return a header that is always there."""
    return {"description": about, "required": True, "schema": {"type": "string"}}


ALWAYS = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}


def add_the_rest(result: Schema, generator: Any, **options: Any) -> Schema:
    """Add what is no view of DRF: probes, and secrets of a kind of their own; drf-spectacular calls this."""

    def keep(name: str, key: Any, make: Callable[[], Schema]) -> Schema:
        result["components"]["schemas"].setdefault(name, make())
        return {"$ref": f"#/components/schemas/{name}"}

    for path, (summary, security, told) in PROBES.items():
        result["paths"][path] = {
            "get": {
                "operationId": f"get_{path.strip('/')}",
                "summary": summary,
                "tags": ["Probes"],
                "security": security,
                "responses": responses(told, {}, keep),
            }
        }
    components = result["components"]
    components["headers"] = {"RequestId": REQUEST_ID}
    components["securitySchemes"] |= schemes.OTHERS
    for kind, named in components.items():
        components[kind] = dict(sorted(named.items()))
    return result
