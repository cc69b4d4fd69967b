"""Turns the Python types that views return into JSON schemas."""

from collections.abc import Callable
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from kilit.api.openapi import Component, Schema

PLAIN: dict[Any, Schema] = {
    Any: {},
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
}

# Stores a schema (name, key, function that makes it) among the components, and returns a reference to it.
Store = Callable[[str, Any, Callable[[], Schema]], Schema]


def schema_of(hint: Any, store: Store) -> Schema:  # noqa: PLR0911 - one for each kind of type
    """Return the schema of a type; TypedDicts and components become references."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, Component):
        return store(hint.name, hint.name, lambda: resolve(hint.schema, store))
    if is_typeddict(hint):
        return store(hint.__name__, hint, lambda: _object(hint, store))
    if origin is Annotated:
        return {**schema_of(args[0], store), **resolve(args[1], store)}
    if origin is NotRequired:
        return schema_of(args[0], store)
    if origin is list:
        return {"type": "array", "items": schema_of(args[0], store)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(args[1], store)}
    if origin in (Union, UnionType):
        return _any_of([schema_of(arg, store) for arg in args])
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [member.value for member in hint]}
    return dict(PLAIN[hint])


def resolve(schema: Any, store: Store) -> Any:
    """Replace the components and Python types inside a schema."""
    if isinstance(schema, dict):
        return {name: resolve(value, store) for name, value in schema.items()}
    if isinstance(schema, list):
        return [resolve(value, store) for value in schema]
    return schema if isinstance(schema, str | int | float | NoneType) else schema_of(schema, store)


def _object(hint: Any, store: Store) -> Schema:
    hints = get_type_hints(hint, include_extras=True)
    return {
        "type": "object",
        **({"description": cleandoc(hint.__doc__)} if hint.__doc__ else {}),
        "properties": {name: schema_of(inner, store) for name, inner in hints.items()},
        "required": [name for name in hints if name in hint.__required_keys__],
    }


def _any_of(schemas: list[Schema]) -> Schema:
    if len(schemas) == 2 and {"type": "null"} in schemas:  # noqa: PLR2004
        (other,) = (schema for schema in schemas if schema != {"type": "null"})
        if isinstance(other.get("type"), str) and "enum" not in other:
            return {**other, "type": [other["type"], "null"]}
    return {"anyOf": schemas}
