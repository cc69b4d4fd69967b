"""How the list of jobs is narrowed: exact searches, bounded filters."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest

from lifecycle.console.listing import ChoiceFilter, SinceFilter, StateFilter
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import ErrorCode, Status


class TemplateFilter(ChoiceFilter):
    """By template, among those that may be rendered."""

    title, parameter_name, column = "template", "template", "template_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer the allowlist."""
        return [(name, name) for name in settings.PDF_TEMPLATES]


class CodeFilter(ChoiceFilter):
    """By the error of failed jobs."""

    title, parameter_name = "error code", "code"
    offered = [(code, code) for code in ErrorCode.values]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Keep one code."""
        return rows.filter(status=Status.FAILED, error_code=value)


FILTERS = [StateFilter, TemplateFilter, CodeFilter, SinceFilter]


def search(rows: PdfJobQuerySet, text: str) -> PdfJobQuerySet:
    """Return rows by id, key or owner; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    return rows.filter(job_key=text) if len(text) == 64 else rows.filter(owner__username=text)  # noqa: PLR2004
