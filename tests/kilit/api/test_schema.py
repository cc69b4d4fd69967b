"""The schema: sound and whole."""

import re

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.support.admin_addresses import routes
from tests.support.api_conformance import schema

# Pages for people, the schema itself, and the protocol of assistants, which is no REST.
BESIDE = ("admin/", "order-status/", "piece/", "api/schema/", "api/docs/", "mcp")


def addresses() -> set[str]:
    return {
        "/" + re.sub(r"<\w+:(\w+)>", lambda found: f"{{{found[1]}}}".replace("pk", "id"), route)
        for route, _pattern in routes()
        if route and not route.startswith(BESIDE)
    }


def test_every_url_is_in_the_schema_and_the_schema_has_no_other() -> None:
    assert addresses() == set(schema()["paths"])


def test_every_error_lists_its_codes() -> None:
    for path, operations in schema()["paths"].items():
        for status, answer in operations.get("post", operations.get("get"))["responses"].items():
            if status >= "400" and path != "/readyz":
                (_, coded) = answer["content"]["application/json"]["schema"]["allOf"]
                assert coded["properties"]["error"]["properties"]["code"]["enum"]


def test_every_operation_states_its_authentication() -> None:
    known = set(schema()["components"]["securitySchemes"])
    for path, operations in schema()["paths"].items():
        for operation in operations.values():
            assert {name for way in operation["security"] for name in way} <= known
            assert operation["security"] or path in ("/healthz", "/readyz", "/pdf/links/{token}")


@pytest.mark.nightly  # by day, Schemathesis reads it, and each answer is held against it
def test_the_schema_is_valid_openapi() -> None:
    assert schema()["openapi"] == "3.1.0"
    assert [error.message for error in OpenAPIV31SpecValidator(schema()).iter_errors()] == []


BODIES = {
    f"{method.upper()} {path}": operation["requestBody"]["content"]
    for path, operations in schema()["paths"].items()
    for method, operation in operations.items()
    if "requestBody" in operation
}


@pytest.mark.parametrize("name", BODIES)
def test_every_body_has_an_example_that_its_schema_allows(name: str) -> None:
    (body,) = BODIES[name].values()

    assert body["examples"]
    for example in body["examples"].values():
        jsonschema_rs.validate({**body["schema"], "components": schema()["components"]}, example["value"])
