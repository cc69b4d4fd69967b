"""Describes a document's variables, for the API and for docs/pdf-templates.md."""

from collections.abc import Iterator
from typing import get_args, get_origin

from pydantic.fields import FieldInfo

from kilit.api.messages import Expected, unwrap
from pdfjobs.documents.fields import Variables

HEAD = "| variable | what may be sent | default | meaning |\n|---|---|---|---|\n"


def describe(model: type[Variables]) -> str:
    return HEAD + "".join(
        f"| `{path}` | {allowed} | {_default(field)} | {field.description} |\n"
        for path, allowed, field in walk(model, row="[]")
    )


def walk(model: type[Variables], path: str = "", row: str = ".*") -> Iterator[tuple[str, str, FieldInfo]]:
    """Yield the path of every field, what may be sent, and the field; `row` stands for an index into a list."""
    for name, field in model.model_fields.items():
        hint, notes = unwrap(field.annotation, field.metadata)
        yield path + name, next((note.text for note in notes if isinstance(note, Expected)), "an object"), field
        inner = get_args(hint)[0] if get_origin(hint) is list else hint
        if issubclass(inner, Variables):
            yield from walk(inner, f"{path}{name}{'' if inner is hint else row}.", row)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default in (None, "", []):
        return "–"
    return "false" if field.default is False else str(field.default)
