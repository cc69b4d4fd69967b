"""How the list of PDF jobs is narrowed; console and bulk workers read it here."""

import hashlib
from contextlib import suppress
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.bulk.filters import CREATED_BETWEEN, AgeFilter, ChoiceFilter, ErrorGroupFilter, FilterSet, state_filter
from pdfjobs.models.job import FAILURES
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import PDF_JOBS, ErrorCode, PdfStatus


def search(rows: PdfJobQuerySet, text: str) -> PdfJobQuerySet:
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    if len(text) == len(hashlib.sha256().hexdigest()):
        return rows.filter(job_key=text)
    # Two queries: with the owner's id the planner knows how many jobs there are and uses the index.
    owners = list(get_user_model().objects.filter(username=text).values_list("pk", flat=True))
    return rows.filter(owner__in=owners)


FILTERS = FilterSet(
    (
        state_filter(PDF_JOBS, index="pdf_in_status", leads=True),
        ChoiceFilter(
            name="template",
            title=_("template"),
            column="template_name",
            index="pdf_of_template",
            leads=True,
            choices=lambda _user: [(name, name) for name in settings.PDF_TEMPLATES],
        ),
        ChoiceFilter(
            name="code",
            title=_("error code"),
            column="error_code",
            index="pdf_of_code",
            leads=True,
            where=Q(status=PdfStatus.FAILED),
            choices=[(code, code) for code in ErrorCode.values],
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        ErrorGroupFilter(failures=FAILURES, index="pdf_of_error_group"),
    ),
    search=search,
)
