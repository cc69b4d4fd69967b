"""Reads the file of rules; an error names the line."""

import json
import re
from typing import Any

from pydantic import ValidationError

from kilit.api.json_reader import DuplicateName, parse_json
from kilit.api.messages import field_errors, format_error
from orchestrator.schemas.rules import Rules

MOST_ERRORS = 20  # the message is shown in one line


class InvalidRules(ValueError):  # noqa: N818 - it is the answer about a file
    """The message names the line of each error."""


def read_rules(content: bytes) -> Rules:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidRules(f"line {line}: Not UTF-8.") from None
    data = _parse(text)
    try:
        return Rules.model_validate(data, context={"thicknesses": set()})
    except ValidationError as error:
        places = [found["loc"] for found in error.errors()]
        described = map(format_error, field_errors(error, Rules))
        lines = [f"line {_line(text, *place)}: {message}" for place, message in zip(places, described, strict=True)]
        raise InvalidRules(" ".join(lines[:MOST_ERRORS])) from None


def _parse(text: str) -> Any:
    try:
        return parse_json(text.encode())
    except json.JSONDecodeError as error:
        raise InvalidRules(f"line {error.lineno}: {error.msg}.") from None
    except DuplicateName as error:
        raise InvalidRules(f"line {_line(text, error.name, nth=2)}: {error.name} appears twice.") from None
    except RecursionError:
        raise InvalidRules("Nested too deeply.") from None
    except ValueError as error:
        raise InvalidRules(f"{error}.") from None


def _line(text: str, *path: str | int, nth: int = 1) -> int:
    """Return the line of a name; of what is missing, the line of the object that it belongs in."""
    at = 0
    for name in filter(lambda step: isinstance(step, str), path):
        pattern = re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
        places = [found.start() for found in re.finditer(pattern, text[at:])]
        at += places[min(nth, len(places)) - 1] if places else 0
    return text.count("\n", 0, at) + 1
