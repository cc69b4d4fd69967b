"""The schema: sound, whole, and the one that is committed."""

import re

from django.urls import URLPattern, get_resolver
from django.urls.resolvers import URLResolver

from tests.support.api_conformance import schema

# Pages for people, and the schema itself.
BESIDE = ("admin/", "api/schema/", "api/docs/")


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> set[str]:
    found = set()
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found |= addresses(pattern.url_patterns, route)
        elif route and not route.startswith(BESIDE):
            found.add("/" + re.sub(r"<\w+:(\w+)>", lambda found: f"{{{found[1]}}}".replace("pk", "id"), route))
    return found


def test_every_url_is_in_the_schema_and_the_schema_has_no_other() -> None:
    assert addresses(get_resolver().url_patterns) == set(schema()["paths"])


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
            assert operation["security"] or path in ("/healthz", "/readyz")
