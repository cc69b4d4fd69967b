"""`GET /pdf/templates`: the templates and their variables."""

from rest_framework.request import Request
from rest_framework.response import Response

from pdfjobs.api import schema
from pdfjobs.api.responses import PdfTemplate, PdfVariable
from pdfjobs.api.views import PdfView
from pdfjobs.documents import Document, documents
from pdfjobs.documents.schema import Field


@schema.templates
class TemplatesView(PdfView):
    def get(self, request: Request) -> Response:
        return Response({"templates": [describe_template(document) for document in documents()]})


def describe_template(document: Document) -> PdfTemplate:
    return {
        "name": document.name,
        "title": document.title,
        "variables": [describe_variable(path, field) for path, field in document.schema.walk()],
        "sample": document.sample,
    }


def describe_variable(path: str, field: Field) -> PdfVariable:
    return {"path": path, "about": field.about, "allowed": field.allowed(), "required": field.required}
