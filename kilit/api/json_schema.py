"""JSON Schemas of messages and of the Python types that views return, as pydantic makes them."""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"
# Stores a component by its name, unless it is known.
Store = Callable[[str, Schema], object]


def schema_of(hint: Any, store: Store, *, mode: Literal["validation", "serialization"] = "serialization") -> Schema:
    """Return the schema of a type; messages, TypedDicts and enums in it become components."""
    listed = listed_schema(hint, mode)
    for name, component in listed.get("$defs", {}).items():
        store(name, without_titles(component))
    schema: Schema = without_titles(listed["items"])
    return schema


@cache
def listed_schema(hint: Any, mode: Literal["validation", "serialization"]) -> Schema:
    """Return the schema of a list of a type; each error of each operation asks for the same one.

    Of a list, because pydantic makes no component of the outermost type.
    """
    return TypeAdapter(list[hint]).json_schema(ref_template=REFERENCE, mode=mode)


def without_titles(schema: Any) -> Any:
    """Leave out the titles that pydantic makes of names; a default is data, which may have a `title` of its own."""
    if isinstance(schema, dict):
        return {
            name: value if name == "default" else without_titles(value)
            for name, value in schema.items()
            if name != "title" or not isinstance(value, str)
        }
    return [without_titles(value) for value in schema] if isinstance(schema, list) else schema
