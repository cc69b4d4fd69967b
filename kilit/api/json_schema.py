"""Turns Python types into JSON schemas, so that what a view returns is described by the type it returns."""

from collections.abc import Callable
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from kilit.api.openapi import Component, Schema

PLAIN: dict[Any, Schema] = {
    Any: {},
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
}

Keep = Callable[[str, Any, Callable[[], Schema]], Schema]  # stores a named schema, and returns the reference to it


def shape_of(hint: Any, keep: Keep) -> Schema:  # noqa: PLR0911 - one for each kind of type
    """Return the schema of a type; TypedDicts and components become references."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, Component):
        return keep(hint.name, hint.name, lambda: filled(hint.schema, keep))
    if is_typeddict(hint):
        return keep(hint.__name__, hint, lambda: _object(hint, keep))
    if origin is Annotated:
        return {**shape_of(args[0], keep), **filled(args[1], keep)}
    if origin in (Required, NotRequired):
        return shape_of(args[0], keep)
    if origin is list:
        return {"type": "array", "items": shape_of(args[0], keep)}
    if origin is dict:
        return {"type": "object", "additionalProperties": shape_of(args[1], keep)}
    if origin in (Union, UnionType):
        return _any_of([shape_of(arg, keep) for arg in args])
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [member.value for member in hint]}
    return dict(PLAIN[hint])


def filled(schema: Any, keep: Keep) -> Any:
    """Return a schema with everything in it that is no JSON yet put into words of JSON."""
    if isinstance(schema, dict):
        return {name: filled(value, keep) for name, value in schema.items()}
    if isinstance(schema, list):
        return [filled(value, keep) for value in schema]
    return schema if isinstance(schema, str | int | float | NoneType) else shape_of(schema, keep)


def _object(hint: Any, keep: Keep) -> Schema:
    hints = get_type_hints(hint, include_extras=True)
    return {
        "type": "object",
        "description": cleandoc(hint.__doc__ or ""),
        "properties": {name: shape_of(inner, keep) for name, inner in hints.items()},
        "required": [name for name in hints if name in hint.__required_keys__],
    }


def _any_of(shapes: list[Schema]) -> Schema:
    if len(shapes) == 2 and {"type": "null"} in shapes:  # noqa: PLR2004
        (one,) = (shape for shape in shapes if shape != {"type": "null"})
        if isinstance(one.get("type"), str) and "enum" not in one:
            return {**one, "type": [one["type"], "null"]}
    return {"anyOf": shapes}
