"""The `webhooks` section of the OpenAPI document: what is posted to endpoints, one entry for each kind."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import override
from pydantic_core import to_jsonable_python

from kilit.api.json_schema import Schema, Store, schema_of
from kilit.api.webhooks import TEST, TEST_EXAMPLE, EndpointTestData, webhook_kinds

JSON = "application/json"
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


def add_webhooks(result: Schema, generator: Any, **options: Any) -> Schema:
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


def _operation(name: str, about: str, data: Any, example: Mapping[str, Any], store: Store) -> Schema:
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


def example_body(name: str, example: Mapping[str, Any]) -> Schema:
    return {"type": name, "timestamp": EXAMPLE_TIME, "data": to_jsonable_python(example)}


def _header(name: str, text: str, example: str) -> Schema:
    schema = {"type": "string", "examples": [example]}
    return {"name": name, "in": "header", "required": True, "description": text, "schema": schema}
