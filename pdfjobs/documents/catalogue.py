"""Which documents there are, and which of them may be rendered."""

from django.conf import settings

from pdfjobs.documents.definition import Document
from pdfjobs.documents.kinds.conversion_report import CONVERSION_REPORT
from pdfjobs.documents.kinds.cutting_sheet import CUTTING_SHEET
from pdfjobs.documents.kinds.invoice import INVOICE
from pdfjobs.documents.kinds.offer import OFFER

KNOWN = {kind.name: kind for kind in (INVOICE, OFFER, CUTTING_SHEET, CONVERSION_REPORT)}


class UnknownTemplateError(Exception):
    """A name that is not on the allowlist."""

    def __init__(self, name: str, allowed: list[str]) -> None:
        listed = ", ".join(allowed) or "none, because the list is empty"
        super().__init__(f"{str(name)[:80]!r} is not a template that may be rendered. Allowed: {listed}.")
        self.name, self.allowed = name, allowed


def documents() -> list[Document]:
    """Return the documents on the allowlist; names on it that nobody wrote are left out."""
    return [KNOWN[name] for name in settings.PDF_TEMPLATES if name in KNOWN]


def document(name: str) -> Document:
    """Return a document on the allowlist, or refuse."""
    allowed = {kind.name: kind for kind in documents()}
    if name not in allowed:
        raise UnknownTemplateError(name, list(allowed))
    return allowed[name]
