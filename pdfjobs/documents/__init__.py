"""The documents that can be rendered: each is a template with a model of its variables."""

from pdfjobs.documents.catalogue import UnknownTemplateError, document, documents
from pdfjobs.documents.definition import Document, DocumentError

__all__ = ["Document", "DocumentError", "UnknownTemplateError", "document", "documents"]
