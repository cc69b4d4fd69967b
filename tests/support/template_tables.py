"""The tables of variables in docs/pdf-templates.md: `python manage.py shell`, then `print(table(Receipt))`."""

from pydantic.fields import FieldInfo

from pdfjobs.documents.fields import Variables, walk

HEAD = "| variable | what may be sent | default | meaning |\n|---|---|---|---|\n"


def table(model: type[Variables]) -> str:
    return HEAD + "".join(
        f"| `{path}` | {allowed} | {_default(field)} | {field.description} |\n"
        for path, allowed, field in walk(model, row="[]")
    )


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default in (None, "", []):
        return "–"
    return "false" if field.default is False else str(field.default)
