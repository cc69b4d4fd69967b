"""Holds the bodies of webhooks against the OpenAPI document."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from tests.support.api_conformance import closed_components, schema


def check_body(text: str) -> None:
    """Raise ValidationError unless a body is as described, with nothing in it that is not."""
    body = json.loads(text)
    _validator(body["type"]).validate(body)


@cache
def _validator(kind: str) -> Any:
    content = schema()["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    described = {**content["schema"], "additionalProperties": False, "components": closed_components()}
    return jsonschema_rs.validator_for(described, validate_formats=True)
