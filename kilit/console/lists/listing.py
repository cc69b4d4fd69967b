"""Lists that stay fast over millions of rows: bounded searches and filters, a capped count."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kilit.bulk.filters import SEARCH, FilterSet, bare_id
from kilit.bulk.search import MOST_PER_COLUMN, PrefixSearch
from kilit.console.formatting import number
from kilit.console.lists.filters import list_filters
from kilit.console.lists.list_controls import ListControls
from kilit.console.lists.table import Table

MOST_COUNTED = 10_000


class CappedPaginator(Paginator[Any]):
    """Counts no further than anyone pages."""

    template_name = "admin/console/capped_pagination.html"
    most = MOST_COUNTED
    object_list: Any

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, or one more than the most that is counted."""
        # In the order of the list, so that the index that finds the page also ends the count.
        return int(self.object_list[: self.most + 1].count())

    def count_text(self) -> str:
        if self.count > self.most:
            text = gettext("more than %(most)s %(names)s; narrow the filter to see older ones")
            return text % {"most": number(self.most), "names": self.names()}
        return gettext("%(number)s %(names)s") % {"number": number(self.count), "names": self.names()}

    def names(self) -> str:
        opts = self.object_list.model._meta
        return str(opts.verbose_name if self.count == 1 else opts.verbose_name_plural)

    def page(self, number: Any) -> Any:
        """Return a page; beyond the last it is the last, because rows leave a list while it is paged through."""
        return super().page(self.nearest(number))

    def nearest(self, number: int) -> int:
        return max(1, min(number, self.num_pages))


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    page_num: int
    paginator: CappedPaginator

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        self.request, self.user = request, request.user
        super().__init__(request, *args, **options)

    def get_queryset(self, request: HttpRequest, **options: Any) -> Any:
        rows = super().get_queryset(request, **options)
        self.search_is_capped = getattr(request, "search_is_capped", False)
        return rows

    def capped_search_text(self) -> str:
        if not self.search_is_capped:
            return ""
        text = gettext("More than %(most)s rows begin with “%(text)s”. Only the first ones were searched: type more.")
        return text % {"most": number(MOST_PER_COLUMN), "text": self.query}

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # hides the number beside the title
        self.page_num = self.paginator.nearest(self.page_num)

    def filters_text(self) -> str:
        """Return the filters that are set, as the page of a bulk action shows them."""
        given = self._filters.given(self.params)
        if search := self.query.strip():
            given[SEARCH] = search
        return self._filters.describe(given, self.user)

    def rejected_filters(self) -> list[str]:
        """Return a message for each value that no filter accepts: an empty list would look like all is well."""
        return self._filters.rejected(self.params, self.user)

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str]:
        """Order along the index of a filter; the oldest first if asked, which is the same index read from its start."""
        leading = self._filters.ordering(self.params, self.user)
        own = list(super().get_ordering(request, queryset))
        if own and not str(own[0]).startswith("-"):
            leading = [column.removeprefix("-") for column in leading]
        return [*leading, *own]

    @cached_property
    def table(self) -> Table:
        return Table(self)

    @cached_property
    def controls(self) -> ListControls:
        return self.model_admin.list_controls(self)

    @property
    def _filters(self) -> FilterSet:
        return getattr(self.model_admin, "filters", FilterSet())


class ReadOnlyAdmin(ModelAdmin):
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class CappedListAdmin(ReadOnlyAdmin):
    list_per_page = 50
    list_max_show_all = 0
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        return CappedChangeList


class LongListAdmin(CappedListAdmin):
    """Rows by the million, newest first: bounded searches and filters, a capped count."""

    list_fullwidth = True
    change_list_template = "admin/console/list.html"
    search_fields = ["=id"]  # shows the box; `filters.search` decides what is found
    filters: ClassVar[FilterSet] = FilterSet()

    def list_controls(self, changelist: CappedChangeList) -> ListControls:
        return ListControls(changelist, self.filters)

    def get_paginator(self, request: HttpRequest, *args: Any, **options: Any) -> CappedPaginator:
        paginator: CappedPaginator = super().get_paginator(request, *args, **options)
        bounds = [self.filters[name].most_counted for name in self.filters.given(request.GET)]
        paginator.most = min(bound for bound in (paginator.most, *bounds) if bound)
        return paginator

    def address(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{self.view_name(name)}", args=args)

    def view_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def get_list_filter(self, request: HttpRequest) -> Any:
        return list_filters(self.filters)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        text = bare_id(self.model, search_term.strip())
        if not text:
            return queryset, False
        search = self.filters.search
        if not isinstance(search, PrefixSearch):
            return search(queryset, text), False
        scope = self.filters.accepted(request.GET, request.user, among=search.scope)
        found = search.first(self.filters.apply(self.get_queryset(request), scope), text)
        request.search_is_capped = found.is_capped  # type: ignore[attr-defined] # for the change list
        return queryset.filter(pk__in=found.ids), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Accept declared filters, and no other lookups from the address."""
        return lookup in self.filters.names
