"""The webhooks of the OpenAPI document: one for each kind, with an example that its schema allows."""

import json
from typing import Any

import jsonschema_rs
import pytest

from kilit.api.webhooks import TEST, webhook_kinds
from tests.support.api_conformance import schema
from tests.support.webhook_schema import check_body


def operations() -> dict[str, Any]:
    return {name: methods["post"] for name, methods in schema()["webhooks"].items()}


def test_every_kind_is_described_and_no_other() -> None:
    assert set(operations()) == {*webhook_kinds, TEST}


@pytest.mark.parametrize("name", sorted([*webhook_kinds, TEST]))
def test_the_example_of_a_kind_is_what_its_schema_allows(name: str) -> None:
    (example,) = operations()[name]["requestBody"]["content"]["application/json"]["examples"].values()

    check_body(json.dumps(example["value"]))


@pytest.mark.parametrize("name", sorted([*webhook_kinds, TEST]))
def test_a_webhook_names_the_headers_that_are_signed(name: str) -> None:
    known = schema()["components"]["parameters"]
    named = [known[each["$ref"].rpartition("/")[2]] for each in operations()[name]["parameters"]]
    headers = {each["name"] for each in named if each["in"] == "header" and each["required"]}

    assert headers == {"webhook-id", "webhook-timestamp", "webhook-signature"}
    assert operations()[name]["summary"]


def test_the_check_refuses_what_is_not_described() -> None:
    body = {"type": TEST, "timestamp": "2026-11-16T09:30:00Z", "data": {"endpoint_id": "1", "phone": "+905551234567"}}

    with pytest.raises(jsonschema_rs.ValidationError, match="phone"):
        check_body(json.dumps(body))
