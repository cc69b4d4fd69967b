"""Describes a document's variables for docs/pdf-templates.md."""

from collections.abc import Iterator

from pdfjobs.documents.schema import Field, Group, Rows

HEAD = "| variable | what may be sent | default | meaning |\n|---|---|---|---|\n"


def describe(schema: Group) -> str:
    return HEAD + "\n".join(_rows(schema, "")) + "\n"


def _rows(group: Group, path: str) -> Iterator[str]:
    for name, field in group.fields.items():
        yield f"| `{path}{name}` | {field.allowed()} | {_default(field)} | {field.about} |"
        if isinstance(field, Group):
            yield from _rows(field, f"{path}{name}.")
        if isinstance(field, Rows):
            yield from _rows(field.group(), f"{path}{name}[].")


def _default(field: Field) -> str:
    if field.required:
        return "**required**"
    if field.default in (None, "", []):
        return "–"
    return "false" if field.default is False else str(field.default)
