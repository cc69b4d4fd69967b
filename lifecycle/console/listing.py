"""How lists stay quick over millions of rows: exact searches, bounded filters, a capped count."""

from collections.abc import Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

MOST_COUNTED = 10_000
# Ids carry the time they were made at; clocks of web nodes differ by less than this.
CLOCKS_DIFFER_BY = timedelta(hours=1)
# From when filters by age count: a bulk action keeps the moment at which it was asked for. None is now.
moment: ContextVar[datetime | None] = ContextVar("moment", default=None)


class CappedPaginator(Paginator[Any]):
    """Counts no further than anybody pages."""

    template_name = "admin/console/capped_pagination.html"
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


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose values are known beforehand; others are ignored."""

    column: str
    offered: Sequence[tuple[str, Any]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all values."""
        return self.offered

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when a known value is asked for."""
        value = self.value()
        known = value in {str(choice) for choice, _ in self.lookup_choices}
        return self.narrow(queryset, str(value)) if known else queryset

    def narrow(self, rows: Any, value: str) -> Any:
        """Return the rows with this value."""
        return rows.filter(**{self.column: value})


class StateFilter(ChoiceFilter):
    """By state, among those of the rows' own table."""

    title, parameter_name, column = "state", "status", "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all states."""
        return [(state, state) for state in model_admin.table.states]


class SinceFilter(ChoiceFilter):
    """By when a row was made, in hours."""

    title, parameter_name = "date", "since"
    offered = [("1", "Last hour"), ("24", "Last 24 hours"), ("168", "Last 7 days"), ("720", "Last 30 days")]

    def narrow(self, rows: Any, value: str) -> Any:
        """Keep the newest, found by their ids, which sort by time."""
        age, then = timedelta(hours=int(value)), moment.get()
        first_id = first_id_at((then or timezone.now()) - age - CLOCKS_DIFFER_BY)
        return rows.filter(pk__gte=first_id, created_at__gte=(then or Now()) - age)


class ReadOnlyAdmin(ModelAdmin):
    """A list and a page to look at."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds one by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes one by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes one by hand."""
        return False


class LongListAdmin(ReadOnlyAdmin):
    """Rows by the million, newest first: exact searches, bounded filters, a capped count."""

    list_per_page = 50
    list_max_show_all = 0
    list_fullwidth = True
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found

    def search(self, rows: Any, text: str) -> Any:
        """Return the rows that a text names, all of it: a part would read the whole table."""
        raise NotImplementedError

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total."""
        return CappedChangeList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Find whole words only."""
        text = search_term.strip()
        return (self.search(queryset, text) if text else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return lookup in {offered.parameter_name for offered in self.list_filter}


def first_id_at(time: datetime) -> UUID:
    """Return the smallest id that could have been made at a time."""
    return UUID(int=int(time.timestamp() * 1000) << 80)
