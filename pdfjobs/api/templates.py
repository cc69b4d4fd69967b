"""`GET /pdf/templates`: what can be asked for, and with which variables."""

from collections.abc import Iterator, Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from pdfjobs.api import schema
from pdfjobs.api.responses import Template, Variable
from pdfjobs.api.views import PdfView
from pdfjobs.documents import Document, documents
from pdfjobs.documents.schema import Field, Group, Rows


@schema.templates
class TemplatesView(PdfView):
    def get(self, request: Request) -> Response:
        """Tell each template's variables, and a sample that renders as it is."""
        return Response({"templates": [described(document) for document in documents()]})


def described(document: Document) -> Template:
    """Return what an integrator has to know."""
    return {
        "name": document.name,
        "title": document.title,
        "variables": list(variables(document.schema.fields)),
        "sample": document.sample,
    }


def variables(fields: Mapping[str, Field], path: str = "") -> Iterator[Variable]:
    """Return each field by its path, as faults name it; `*` stands for every row."""
    for name, field in fields.items():
        here = f"{path}{name}"
        yield {"path": here, "about": field.about, "allowed": field.allowed(), "required": field.required}
        if isinstance(field, Group):
            yield from variables(field.fields, f"{here}.")
        if isinstance(field, Rows):
            yield from variables(field.row, f"{here}.*.")
