"""All documents, and those on the allowlist (KILIT_PDF_TEMPLATES)."""

from django.conf import settings

from pdfjobs.documents.definition import Document
from pdfjobs.documents.kinds.conversion_report import CONVERSION_REPORT
from pdfjobs.documents.kinds.cutting_sheet import CUTTING_SHEET
from pdfjobs.documents.kinds.delivery_note import DELIVERY_NOTE
from pdfjobs.documents.kinds.invoice import INVOICE
from pdfjobs.documents.kinds.labels import LABEL_SHEET
from pdfjobs.documents.kinds.offer import OFFER
from pdfjobs.states import ErrorCode

KNOWN = {kind.name: kind for kind in (INVOICE, OFFER, DELIVERY_NOTE, CUTTING_SHEET, LABEL_SHEET, CONVERSION_REPORT)}


class UnknownTemplateError(Exception):
    code = ErrorCode.TEMPLATE_ERROR

    def __init__(self, name: str, allowed: list[str]) -> None:
        names = ", ".join(allowed) or "none"
        super().__init__(f"{str(name)[:80]!r} is not an allowed template. Allowed: {names}.")
        self.name, self.allowed = name, allowed


def documents() -> list[Document]:
    return [KNOWN[name] for name in settings.PDF_TEMPLATES if name in KNOWN]


def document(name: str) -> Document:
    allowed = {kind.name: kind for kind in documents()}
    if name not in allowed:
        raise UnknownTemplateError(name, list(allowed))
    return allowed[name]
