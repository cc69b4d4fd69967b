"""How conversions and uploads are narrowed: exact searches, bounded filters."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, Value
from django.db.models.lookups import Exact
from django.http import HttpRequest

from lifecycle.console.listing import ChoiceFilter, SinceFilter, StateFilter
from ociqueue.models import Site
from ociqueue.models.conversion import CLICK_ID, PREFIX
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import CONVERSIONS, Category

# COMPLETED rows hold no error, and are most of the table: filters on errors need not look at them.
UNFINISHED = [state for state in CONVERSIONS.states if state not in CONVERSIONS.terminal()]


class SiteFilter(ChoiceFilter):
    """By site, among those of the user."""

    title, parameter_name, column = "site", "site", "site"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer the sites of the user."""
        return [(str(site.pk), site.name) for site in Site.objects.seen_by(request.user)]


class CategoryFilter(ChoiceFilter):
    """By the kind of failure."""

    title, parameter_name = "error category", "category"
    offered = [(category, category) for category in Category.values]

    def narrow(self, rows: ConversionQuerySet, value: str) -> ConversionQuerySet:
        """Keep one kind."""
        return rows.filter(status__in=UNFINISHED, provider_error_category=value)


class CodeFilter(admin.SimpleListFilter):
    """By an error code typed in: listing the codes there are would read the whole table."""

    title = "error code"
    parameter_name = "code"
    template = "admin/ociqueue/code_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer no list."""
        return ()

    def has_output(self) -> bool:
        """Show the field all the same."""
        return True

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep one code."""
        code = (self.value() or "").strip()
        return queryset.filter(status__in=UNFINISHED, provider_error_code=code) if code else queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Give the template what is typed, and the other filters to keep."""
        kept = [(name, value) for name, value in changelist.params.items() if name not in (self.parameter_name, "p")]
        yield {"value": self.value() or "", "kept": kept}


FILTERS = [StateFilter, SiteFilter, CodeFilter, CategoryFilter, SinceFilter]


def search(rows: ConversionQuerySet, text: str) -> ConversionQuerySet:
    """Return rows by id, order id or click id; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text.removeprefix(PREFIX)))
    return rows.filter(Q(Exact(CLICK_ID, Value(text))) | Q(order_id=text))
