"""How the list of jobs is narrowed: exact searches, bounded filters."""

import hashlib
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.console.filters import AgeFilter, ChoiceFilter, DateFilter, GroupFilter, LeadingStateFilter
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import ErrorCode, PdfStatus


class TemplateFilter(ChoiceFilter):
    """By template, among those that may be rendered."""

    title, parameter_name, column = _("template"), "template", "template_name"
    leads = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(name, name) for name in settings.PDF_TEMPLATES]


class CodeFilter(ChoiceFilter):
    """By the error of failed jobs."""

    title, parameter_name, column = _("error code"), "code", "error_code"
    leads = True
    offered = [(code, code) for code in ErrorCode.values]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        return super().narrow(rows, value).filter(status=PdfStatus.FAILED)  # type: ignore[no-any-return]


FILTERS = [LeadingStateFilter, TemplateFilter, CodeFilter, AgeFilter, DateFilter, GroupFilter]


def search(rows: PdfJobQuerySet, text: str) -> PdfJobQuerySet:
    """Return rows by id, key or owner; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    if len(text) == len(hashlib.sha256().hexdigest()):
        return rows.filter(job_key=text)
    # The owner is found first: then an index leads to the jobs, and the planner knows how many there are.
    owners = list(get_user_model().objects.filter(username=text).values_list("pk", flat=True))
    return rows.filter(owner__in=owners)
