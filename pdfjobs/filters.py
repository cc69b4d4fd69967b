"""How the list of PDF jobs is narrowed; console and bulk workers read it here."""

import hashlib

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.bulk.filters import CREATED_BETWEEN, AgeFilter, ChoiceFilter, ErrorGroupFilter, FilterSet, state_filter
from kilit.bulk.item_filter import BulkFilter
from kilit.bulk.search import PrefixSearch, by
from kilit.lock.prefixes import begins_with
from pdfjobs.models.job import FAILURES
from pdfjobs.states import PDF_JOBS, ErrorCode, PdfStatus

MOST_OWNERS = 100


def by_key(text: str) -> Q | None:
    return Q(job_key=text) if len(text) == len(hashlib.sha256().hexdigest()) else None


def by_owner(text: str) -> Q:
    # Two queries: with the owners' ids the planner knows how many jobs there are and uses their index.
    owners = get_user_model().objects.filter(begins_with("username", text)).values_list("pk", flat=True)
    return Q(owner__in=list(owners[:MOST_OWNERS]))


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
        BulkFilter(),
    ),
    search=PrefixSearch((by("document_number"), by("recipient"), by_key, by_owner)),
)
