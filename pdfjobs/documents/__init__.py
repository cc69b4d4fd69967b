"""The documents that can be rendered: each a template with a schema of its variables."""

from pdfjobs.documents.catalogue import UnknownDocument, document, documents
from pdfjobs.documents.definition import Document, DocumentFault

__all__ = ["Document", "DocumentFault", "UnknownDocument", "document", "documents"]
