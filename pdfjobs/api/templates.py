"""`GET /pdf/templates`: the templates and their variables."""

from collections.abc import Iterator, Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from pdfjobs.api import schema
from pdfjobs.api.responses import PdfTemplate, PdfVariable
from pdfjobs.api.views import PdfView
from pdfjobs.documents import Document, documents
from pdfjobs.documents.schema import Field, Group, Rows


@schema.templates
class TemplatesView(PdfView):
    def get(self, request: Request) -> Response:
        return Response({"templates": [describe_template(document) for document in documents()]})


def describe_template(document: Document) -> PdfTemplate:
    return {
        "name": document.name,
        "title": document.title,
        "variables": list(variables(document.schema.fields)),
        "sample": document.sample,
    }


def variables(fields: Mapping[str, Field], path: str = "") -> Iterator[PdfVariable]:
    """Yield each field with its path, as in error messages; `*` stands for every row."""
    for name, field in fields.items():
        here = f"{path}{name}"
        yield {"path": here, "about": field.about, "allowed": field.allowed(), "required": field.required}
        if isinstance(field, Group):
            yield from variables(field.fields, f"{here}.")
        if isinstance(field, Rows):
            yield from variables(field.row, f"{here}.*.")
