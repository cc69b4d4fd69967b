"""Builds the OpenAPI document from the endpoints' descriptions, and adds what all endpoints share."""

import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any

from django.conf import settings
from django.utils.translation import override
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiExample
from pydantic_core import to_jsonable_python

from kilit.api.openapi import (
    RETRY_AFTER,
    UNKNOWN,
    VALIDATION,
    ApiEndpoint,
    ApiResponse,
    Codes,
    Refusal,
    Schema,
    Store,
    query_parameters,
    schema_of,
)
from kilit.api.probes import PROBES
from kilit.api.queue_api import apis
from kilit.api.webhooks import TEST, TEST_EXAMPLE, EndpointTestData, webhook_kinds

REQUEST_ID = {"description": "Identifies the request in the log.", "schema": {"type": "string"}}
ALWAYS = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
JSON = "application/json"
BODY: dict[int, Codes] = {
    411: {"LENGTH_REQUIRED": "The body has no Content-Length."},
    413: {"TOO_LARGE": "The body is larger than 5 MB."},
    415: {"UNSUPPORTED_MEDIA_TYPE": "The body is not JSON, or compressed in another way than gzip."},
}

BEARER = {"type": "http", "scheme": "bearer"}
SESSION = (
    "The session of a user logged in to the console; requests that change something also need the header "
    "`X-CSRFToken` with the value of the CSRF cookie."
)
KEY = "A key issued in the console. Operations list the scope that it needs."
# Views and authentication classes name theirs as `schemes`; any one of them is enough.
SCHEMES = {
    "bearerKey": {**BEARER, "description": "The same key as `Authorization: Bearer`."},
    "cronSecret": {**BEARER, "description": "The value of `KILIT_CRON_SECRET`."},
    "key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": KEY},
    "metricsToken": {**BEARER, "description": "The value of `KILIT_METRICS_TOKEN`, if it is set."},
    "session": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME, "description": SESSION},
    "sessionToken": {**BEARER, "description": "A token of `POST /api/oci/v2/verify`, for one site."},
}
EXAMPLE_TIME = "2026-11-16T09:30:00.123456Z"
HEADERS = {
    "webhook-id": ("Identifies the message; the same on every attempt.", "msg_01936f2e8a417c3e9d506b1f0e2a4c77"),
    "webhook-timestamp": ("When this attempt was made, in seconds since 1970.", "1794821400"),
    "webhook-signature": (
        "Signatures of `id.timestamp.body` with the endpoint's secret; two during a rotation. See docs/webhooks.md.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
ANSWERS = {
    "2XX": ("WebhookDelivered", "Delivered. Answer within 15 seconds; the body is ignored."),
    "410": ("WebhookGone", "Send nothing more: the endpoint is switched off."),
    "429": ("WebhookWait", "Nothing is sent until `Retry-After` has passed. Also 503 with that header."),
    "default": ("WebhookRetried", "Not delivered: it is sent again later under the same id."),
}


class ApiSchema(AutoSchema):
    """Reads a method's endpoint; its view has a `tag`, and may have `errors`, `parameters` and `schemes` for all."""

    @property
    def endpoint(self) -> ApiEndpoint:
        described: ApiEndpoint = getattr(self.view, self.method.lower()).endpoint
        return described

    def get_operation(self, *args: Any, **options: Any) -> Schema | None:
        operation = super().get_operation(*args, **options)
        if operation is not None:
            operation.setdefault("security", [])  # it needs no credentials
            operation["responses"] = responses(self.endpoint, self.shared_errors(operation), self.store)
        return operation

    def get_tags(self) -> list[str]:
        return [self.view.tag]  # type: ignore[attr-defined]

    def get_summary(self) -> str:
        return self._docstring()[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]
        return self._docstring()[1]

    def _docstring(self) -> list[str]:
        text: Any = getattr(self.view, self.method.lower()).__doc__ or type(self.view).__doc__
        return [" ".join(part.split()) for part in [*cleandoc(text).split("\n\n", 1), ""][:2]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        sources = (self.view, *self.view.get_authenticators())
        scopes = {source: [self.endpoint.scope] if getattr(source, "is_key", False) else [] for source in sources}
        return [{name: scopes[source]} for source in sources for name in getattr(source, "schemes", ())]

    def get_override_parameters(self) -> list[Any]:
        endpoint = self.endpoint
        shared = getattr(self.view, "parameters", ())
        return [
            *(query_parameters(endpoint.query) if endpoint.query else ()),
            *shared,
            *endpoint.parameters,
        ]

    def get_request_serializer(self) -> Any:
        return self.endpoint.body

    def get_examples(self) -> list[OpenApiExample]:
        examples = self.endpoint.body.examples if self.endpoint.body else {}
        media = self.view.parser_classes[0].media_type
        return [OpenApiExample(name, value, request_only=True, media_type=media) for name, value in examples.items()]

    def get_response_serializers(self) -> Any:
        return {}  # every endpoint describes its own

    def get_operation_id(self) -> str:
        """Derive the id from method and path, which are stable."""
        return re.sub(r"\W+", "_", f"{self.method.lower()}{self.path}").strip("_")

    def _is_list_view(self, serializer: object = None) -> bool:
        return False  # every view describes its own responses

    def _get_request_for_media_type(self, serializer: object, direction: object = "request") -> object:
        return schema_of(serializer, self.store, mode="validation") if serializer else None, True

    def shared_errors(self, operation: Schema) -> dict[int, Codes]:
        authenticators = self.view.get_authenticators()
        malformed = "The address contains a NUL character" + (
            ", or the body is not JSON." if "requestBody" in operation else "."
        )
        errors: dict[int, Codes] = {400: {"BAD_REQUEST": malformed}}
        if self.endpoint.query or (self.endpoint.body and 422 not in self.endpoint.errors):
            errors[400] = {**errors[400], **VALIDATION}
        if operation.get("security"):
            errors[401] = {"UNAUTHENTICATED": "Credentials are missing, unknown, expired or revoked."}
        if self.method in ("POST", "PATCH", "DELETE") and any(
            getattr(one, "checks_csrf", False) for one in authenticators
        ):
            errors[403] = {"FORBIDDEN": "The role does not allow it, or the CSRF token is missing."}
        if not hasattr(self.view.content_negotiation_class, "takes_any"):
            errors[406] = {"NOT_ACCEPTABLE": f"`Accept` does not allow {JSON}."}
        if "requestBody" in operation:
            errors |= BODY
        if any(getattr(one, "is_key", False) for one in authenticators):
            either = " or `admin`" if getattr(self.view, "takes_admin_keys", False) else ""
            missing = {"MISSING_SCOPE": f"The key does not have the scope `{self.endpoint.scope}`{either}."}
            errors[403] = {**errors.get(403, {}), **missing}
            errors[429] = {"TOO_MANY_REQUESTS": "The key has reached its rate limit for requests of this scope."}
        errors[503] = {"UNAVAILABLE": "The database is not responding, or is read-only; nothing was changed."}
        if self.method != "GET" or getattr(self.view, "get_stores", False):
            errors[503] = {**errors[503], **UNKNOWN}
        for status, codes in getattr(self.view, "errors", {}).items():
            errors[status] = {**errors.get(status, {}), **codes}
        return errors

    def store(self, name: str, schema: Schema) -> None:
        component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema)
        self.registry.register_on_missing(component)


def responses(endpoint: ApiEndpoint, shared: Mapping[int, Codes], store: Store) -> Schema:
    by_status = {status: success(response, store) for status, response in endpoint.responses.items()}
    for status in {*shared, *endpoint.errors}:
        codes = {**shared.get(status, {}), **endpoint.errors.get(status, {})}
        by_status[status] = error(status, codes, store, may_retry_after=status in endpoint.may_retry_after)
    return {str(status): by_status[status] for status in sorted(by_status)}


def success(response: ApiResponse, store: Store) -> Schema:
    content = {JSON: {"schema": schema_of(response.type, store)}} if response.type is not None else {}
    content |= {media: {"schema": schema} for media, schema in response.media.items()}
    headers = {name: header(text) for name, text in response.headers.items()}
    headers |= {name: header(text, required=False) for name, text in response.optional_headers.items()}
    described = {"description": response.description, "headers": {**headers, **ALWAYS}}
    return {**described, "content": content} if content else described


def error(status: int, codes: Codes, store: Store, *, may_retry_after: bool) -> Schema:
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = header("The authentication scheme to use.")
    if may_retry_after or status in (429, 503):
        headers["Retry-After"] = header(RETRY_AFTER, required=not may_retry_after)
    its_codes = {"properties": {"error": {"properties": {"code": {"enum": sorted(codes)}}}}}
    return {
        "description": "\n".join(f"- `{code}`: {when}" for code, when in codes.items()),
        "headers": {**headers, **ALWAYS},
        "content": {JSON: {"schema": {"allOf": [schema_of(Refusal, store), its_codes]}}},
    }


def header(description: str, *, required: bool = True) -> Schema:
    return {"description": description, "required": required, "schema": {"type": "string"}}


def add_probes(result: Schema, generator: object, **options: object) -> Schema:
    """Add the health endpoints, which are not DRF views, and the schemes of other secrets; a drf-spectacular hook."""
    components = result["components"]

    for path, (summary, security, endpoint) in PROBES.items():
        result["paths"][path] = {
            "get": {
                "operationId": f"get_{path.strip('/')}",
                "summary": summary,
                "tags": ["Probes"],
                "security": security,
                "responses": responses(endpoint, {}, components["schemas"].setdefault),
            }
        }
    components["headers"] = {"RequestId": REQUEST_ID}
    components["securitySchemes"] = SCHEMES
    for kind, named in components.items():
        components[kind] = dict(sorted(named.items()))
    return result


def add_tags(result: Schema, generator: object, **options: object) -> Schema:
    """Add what the queues say about their endpoints; a drf-spectacular hook."""
    described = {name: text for api in apis for name, text in api.tags.items()}
    result["tags"] = [*({"name": name, "description": text} for name, text in described.items()), *result["tags"]]
    return result


def add_webhooks(result: Schema, generator: object, **options: object) -> Schema:
    """Add the webhooks to the document; a drf-spectacular hook."""
    components = result["components"]
    components["parameters"] = {name: _header(name, *described) for name, described in HEADERS.items()}
    components["responses"] = {name: {"description": text} for name, text in ANSWERS.values()}
    store = components["schemas"].setdefault
    with override("en"):
        result["webhooks"] = {name: {"post": operation} for name, operation in _operations(store)}
    return result


def _operations(store: Store) -> Iterator[tuple[str, Schema]]:
    for kind in sorted(webhook_kinds.values(), key=lambda kind: kind.name):
        yield kind.name, _operation(kind.name, str(kind.about), kind.data, kind.example, store)
    yield TEST, _operation(TEST, "Someone sent a test to the endpoint.", EndpointTestData, TEST_EXAMPLE, store)


def _operation(name: str, about: str, data: Any, example: Mapping[str, object], store: Store) -> Schema:
    body = {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"const": name},
            "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
            "data": schema_of(data, store),
        },
    }
    return {
        "operationId": f"webhook_{name.replace('.', '_')}",
        "summary": about.rstrip("."),
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": body, "examples": {"example": {"value": example_body(name, example)}}}},
        },
        "responses": {
            status: {"$ref": f"#/components/responses/{answer}"} for status, (answer, _text) in ANSWERS.items()
        },
    }


def example_body(name: str, example: Mapping[str, object]) -> Schema:
    return {"type": name, "timestamp": EXAMPLE_TIME, "data": to_jsonable_python(example)}


def _header(name: str, text: str, example: str) -> Schema:
    schema = {"type": "string", "examples": [example]}
    return {"name": name, "in": "header", "required": True, "description": text, "schema": schema}
