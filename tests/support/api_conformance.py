"""Holds answers against the schema: status, media type, headers and body, with nothing in it that is not described."""

import copy
import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
from drf_spectacular.generators import SchemaGenerator

from kilit.api.pages import ONE_AT_A_TIME


def schema() -> dict[str, Any]:
    """Return the whole schema; a test's threads may be the first to ask."""
    with ONE_AT_A_TIME:
        return _schema()


@cache
def _schema() -> dict[str, Any]:
    return json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True)))


@cache
def closed_components() -> dict[str, Any]:
    """Return the components with every object closed: clients must bear new fields, but we describe them."""
    components = copy.deepcopy(schema()["components"])
    for name, component in components["schemas"].items():
        if "properties" in component and name != "RefusalDetail":
            component.setdefault("additionalProperties", False)
    return components


@cache
def _validator(path: str, method: str, status: str, media: str) -> Any:
    described = schema()["paths"][path][method]["responses"][status]["content"][media]["schema"]
    return jsonschema_rs.validator_for({**described, "components": closed_components()}, validate_formats=True)


@cache
def _addresses() -> list[tuple[re.Pattern[str], str]]:
    """Return the schema's addresses with their patterns, literal ones first; every page of every test is compared."""
    known = sorted(schema()["paths"], key=lambda address: address.count("{"))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", address)), address) for address in known]


def template_of(path: str) -> str | None:
    """Return the address in the schema that a path belongs to, literal ones first."""
    return next((address for pattern, address in _addresses() if pattern.fullmatch(path)), None)


def check(method: str, path: str, answer: Any) -> str | None:
    """Return what was looked at, as in `GET /jobs 200`; AssertionError when the schema tells otherwise."""
    template = template_of(path)
    if template is None or answer.status_code == 500:
        return None
    operations = schema()["paths"][template]
    if method.lower() not in operations:
        if method in ("HEAD", "OPTIONS"):
            return None
        assert answer.status_code in (401, 403, 405), f"{method} {path} answers {answer.status_code}"
        assert set(answer.json()["error"]) >= {"code", "message"}
        return None
    what = f"{method} {template} {answer.status_code}"
    described = operations[method.lower()]["responses"].get(str(answer.status_code))
    assert described, f"{what} is not described"
    for name, header in described["headers"].items():
        assert name in answer.headers or not header.get("required"), f"{what} comes without {name}"
    content = described.get("content", {})
    media = answer.headers.get("Content-Type", "").partition(";")[0]
    is_page = media == "text/html" and template == "/pdf/links/{token}"  # errors, for browsers
    if content and not is_page:
        assert media in content, f"{what} comes as {media}"
    if media == "application/json":
        _validator(template, method.lower(), str(answer.status_code), media).validate(json.loads(answer.content))
    return what
