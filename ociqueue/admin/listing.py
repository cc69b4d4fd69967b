"""How lists stay quick over millions of rows: exact searches, bounded filters, a capped count."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q, Value
from django.db.models.functions import Now
from django.db.models.lookups import Exact
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from unfold.views import ChangeList

from ociqueue.models import Site
from ociqueue.models.conversion import CLICK_ID, PREFIX
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import CONVERSIONS, Category, Status

MOST_COUNTED = 10_000
# Ids carry the time they were made at; clocks of web nodes differ by less than this.
CLOCKS_DIFFER_BY = timedelta(hours=1)
# COMPLETED rows hold no error, and are most of the table: filters on errors need not look at them.
UNFINISHED = [state for state in CONVERSIONS.states if state not in CONVERSIONS.terminal()]


class CappedPaginator(Paginator[Any]):
    """Counts no further than anybody pages."""

    template_name = "admin/ociqueue/capped_pagination.html"
    most = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        """Return how many there are, or one more than the most that is counted."""
        return int(self._rows.order_by()[: self.most + 1].count())

    def spoken_count(self) -> str:
        """Return how many there are, or that there are more than were counted."""
        words = self._rows.model._meta
        name, names = words.verbose_name, words.verbose_name_plural
        if self.count > self.most:
            return f"more than {self.most:,} {names}; narrow the filter to see the older ones"
        return f"{self.count:,} {name if self.count == 1 else names}"

    @property
    def _rows(self) -> Any:
        return self.object_list


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    def get_results(self, request: HttpRequest) -> None:
        """Keep the page's head from showing a number beside the title."""
        super().get_results(request)
        self.full_result_count = self.result_count


class ChoiceFilter(admin.SimpleListFilter, ABC):
    """A filter whose values are known beforehand; others are ignored."""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when a known value is asked for."""
        value = self.value()
        known = value in {str(choice) for choice, _ in self.lookup_choices}
        return self.narrow(queryset, str(value)) if known else queryset

    @abstractmethod
    def narrow(self, rows: Any, value: str) -> Any:
        """Return the rows with this value."""


class StatusFilter(ChoiceFilter):
    """By state."""

    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all states."""
        return [(state, state) for state in Status.values]

    def narrow(self, rows: ConversionQuerySet, value: str) -> ConversionQuerySet:
        """Keep one state."""
        return rows.filter(status=value)


class SiteFilter(ChoiceFilter):
    """By site, among those of the user."""

    title = "site"
    parameter_name = "site"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer the sites of the user."""
        return [(str(site.pk), site.name) for site in Site.objects.seen_by(request.user)]

    def narrow(self, rows: Any, value: str) -> Any:
        """Keep one site."""
        return rows.filter(site=UUID(value))


class CategoryFilter(ChoiceFilter):
    """By the kind of failure."""

    title = "error category"
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all kinds."""
        return [(category, category) for category in Category.values]

    def narrow(self, rows: ConversionQuerySet, value: str) -> ConversionQuerySet:
        """Keep one kind."""
        return rows.filter(status__in=UNFINISHED, provider_error_category=value)


class SinceFilter(ChoiceFilter):
    """By when a row was made."""

    title = "date"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer spans in hours."""
        return [("1", "Last hour"), ("24", "Last 24 hours"), ("168", "Last 7 days"), ("720", "Last 30 days")]

    def narrow(self, rows: Any, value: str) -> Any:
        """Keep the newest, found by their ids, which sort by time."""
        age = timedelta(hours=int(value))
        return rows.filter(pk__gte=first_id_at(timezone.now() - age - CLOCKS_DIFFER_BY), created_at__gte=Now() - age)


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


FILTERS = [StatusFilter, SiteFilter, CodeFilter, CategoryFilter, SinceFilter]


def first_id_at(time: datetime) -> UUID:
    """Return the smallest id that could have been made at a time."""
    return UUID(int=int(time.timestamp() * 1000) << 80)


def search(rows: ConversionQuerySet, text: str) -> ConversionQuerySet:
    """Return rows by id, order id or click id; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text.removeprefix(PREFIX)))
    return rows.filter(Q(Exact(CLICK_ID, Value(text))) | Q(order_id=text))
