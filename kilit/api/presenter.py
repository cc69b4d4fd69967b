"""Rows as the API returns them: the fields are those of a response type."""

import re
from datetime import datetime
from functools import cache
from types import NoneType
from typing import TypeVar, cast, get_args, get_type_hints

Shape = TypeVar("Shape")


def present(row: object, shape: type[Shape], **values: object) -> Shape:
    """Return the fields of a response type: the values given, or the attributes of the same name in snake case."""
    fields, declared = {}, cast("type", shape)
    for name, (column, is_nullable) in _fields(declared).items():
        value = values[name] if name in values else getattr(row, column)
        if isinstance(value, datetime):
            value = value.isoformat()
        fields[name] = None if is_nullable and value == "" else value
    return cast("Shape", fields)


@cache
def _fields(shape: type) -> dict[str, tuple[str, bool]]:
    return {
        name: (re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name), NoneType in get_args(hint))
        for name, hint in get_type_hints(shape).items()
    }
