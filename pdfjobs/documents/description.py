"""Describes a document's variables for docs/pdf-templates.md."""

from pdfjobs.documents.schema import Field, FieldGroup

HEAD = "| variable | what may be sent | default | meaning |\n|---|---|---|---|\n"


def describe(schema: FieldGroup) -> str:
    return HEAD + "".join(
        f"| `{path}` | {field.allowed()} | {_default(field)} | {field.about} |\n"
        for path, field in schema.walk(row="[]")
    )


def _default(field: Field) -> str:
    if field.required:
        return "**required**"
    if field.default in (None, "", []):
        return "–"
    return "false" if field.default is False else str(field.default)
