"""Lists that stay fast over millions of rows: bounded searches and filters, a capped count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kilit.batches.filters import FilterSet, bare_id
from kilit.batches.search import MOST_PER_COLUMN, PrefixSearch
from kilit.console.formatting import PRIMARY, counted, number
from kilit.console.lists.list_controls import ListControls
from kilit.console.lists.table import Table, sort_key

MOST_COUNTED = 10_000
MOST_SORTED = 1_000  # in memory
SEARCH_OF_FILTERS = ["=id"]  # shows the box; `filters.search` decides what is found


class DeclaredFilters(admin.ListFilter):
    """All filters of a list; a value that is not accepted matches nothing."""

    title = "filters"  # never shown: `ListControls` offers them
    declared: ClassVar[FilterSet]

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.expected_parameters():
            if name in params:
                value = params.pop(name)
                self.used_parameters[name] = value if isinstance(value, str) else value[-1]

    def expected_parameters(self) -> list[str | None]:
        return [*self.declared.names]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        values = self.declared.given(self.used_parameters)
        if self.declared.rejected(values, request.user):
            return queryset.none()
        for item in self.declared:
            queryset = queryset if item.name in values else queryset.filter(item.unless_set)
        return self.declared.apply(queryset, values)


class CappedPaginator(Paginator[Any]):
    """Counts no further than anyone pages."""

    most = MOST_COUNTED
    object_list: Any

    @cached_property
    def count(self) -> int:
        """How many rows there are, or one more than the most that is counted."""
        # In the order of the list, so that the index that finds the page also ends the count.
        return int(self.object_list[: self.most + 1].count())

    def count_text(self) -> str:
        if self.count > self.most:
            text = gettext("more than %(rows)s; narrow the filter to see older ones")
            return text % {"rows": counted(self.most, self.object_list.model)}
        return counted(self.count, self.object_list.model)

    def page(self, number: Any) -> Any:
        """Return a page; beyond the last it is the last, because rows leave a list while it is paged through."""
        return super().page(self.nearest(number))

    def nearest(self, number: int) -> int:
        return max(1, min(number, self.num_pages))


class RowList(ChangeList):
    """The rows of a page of a list, sorted along an index, or in memory while they are few."""

    page_num: int
    paginator: CappedPaginator
    result_list: Any

    def __init__(self, request: HttpRequest, *args: object, **options: object) -> None:
        self.request, self.user = request, request.user
        super().__init__(request, *args, **options)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # hides the number beside the title
        self.page_num = self.paginator.nearest(self.page_num)
        key, is_reversed = self._sort_key()
        rows = list(self.queryset if key else self.result_list)
        self.model_admin.complete(rows)
        if key:
            first = (self.page_num - 1) * self.list_per_page
            rows = sorted(rows, key=key, reverse=is_reversed)[first : first + self.list_per_page]
        self.result_list = rows

    def _sort_key(self) -> tuple[Callable[[Any], Any] | None, bool]:
        places = self.get_ordering_field_columns() if self.is_short and ORDER_VAR in self.params else {}
        for place, direction in places.items():
            if 0 <= place < len(self.list_display):
                return sort_key(self, self.list_display[place]), direction == "desc"
        return None, False

    @property
    def is_short(self) -> bool:
        return bool(self.result_count <= MOST_SORTED)

    def capped_search_text(self) -> str:
        if not getattr(self.request, "search_is_capped", False):
            return ""
        text = gettext("More than %(most)s rows begin with “%(text)s”. Only the first ones were searched: type more.")
        return text % {"most": number(MOST_PER_COLUMN), "text": self.query}

    def rejected_filters(self) -> list[str]:
        """Return a message for each value that no filter accepts: an empty list would look like all is well."""
        return self._filters.rejected(self.params, self.user)

    def get_ordering(self, request: HttpRequest, queryset: object) -> list[str]:
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
        return self.model_admin.filters


@dataclass(frozen=True)
class ListLink:
    """A page that a list offers: the primary one as a button, the others in a menu."""

    title: str
    href: str
    is_primary: bool = False


class ListAdmin(ModelAdmin):
    """A list of the console, of ten rows or ten million: a line a row, tabs, filters as chips, search as one types."""

    list_fullwidth = True
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    filters: FilterSet = FilterSet()
    # Ends of the addresses of pages that act on what the filters match.
    pages_with_filters: Sequence[str] = ()

    def get_changelist(self, request: HttpRequest, **options: object) -> type[RowList]:
        return RowList

    def complete(self, rows: list[Any]) -> None:
        """Fetch what the rows of a page show besides their columns."""

    def list_controls(self, changelist: RowList) -> ListControls:
        return ListControls(changelist)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        context: dict[str, Any] = getattr(response, "context_data", None) or {}
        if "cl" in context:
            links = self.links(request, context.pop("actions_list"))
            context["main_link"] = next((link for link in links if link.is_primary), None)
            context["menu_links"] = [link for link in links if link is not context["main_link"]]
        return response

    def links(self, request: HttpRequest, pages: list[Any]) -> list[ListLink]:
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        with_filters = tuple(self.pages_with_filters)
        links = [
            ListLink(page["title"], page["path"] + (query if page["path"].endswith(with_filters) else ""), is_primary)
            for page in pages
            for is_primary in [page["variant"] == PRIMARY]
        ]
        if self.has_add_permission(request):
            title = gettext("Add %(name)s") % {"name": self.opts.verbose_name}
            links.append(ListLink(title, self.address("add"), is_primary=True))
        return links

    def get_paginator(self, request: HttpRequest, *args: object, **options: object) -> CappedPaginator:
        paginator: CappedPaginator = super().get_paginator(request, *args, **options)
        bounds = [self.filters[name].most_counted for name in self.filters.given(request.GET)]
        paginator.most = min(bound for bound in (paginator.most, *bounds) if bound)
        return paginator

    def address(self, name: str, *args: object) -> str:
        return reverse(f"admin:{self.view_name(name)}", args=args)

    def view_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def route(self, route: str, name: str, view: Callable[..., HttpResponseBase]) -> URLPattern:
        return path(route, self.admin_site.admin_view(view), name=self.view_name(name))

    def get_list_filter(self, request: HttpRequest) -> object:
        return [type("ListFilters", (DeclaredFilters,), {"declared": self.filters})]

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if self.search_fields != SEARCH_OF_FILTERS:
            return super().get_search_results(request, queryset, search_term)
        text = bare_id(self.model, search_term.strip())
        if not text:
            return queryset, False
        search = self.filters.search
        if not isinstance(search, PrefixSearch):
            return search(queryset, text), False
        scope = self.filters.accepted(request.GET, request.user, among=search.scope)
        result = search.first(self.filters.apply(self.get_queryset(request), scope), text)
        request.search_is_capped = result.is_capped  # type: ignore[attr-defined] # for the list
        return queryset.filter(pk__in=result.ids), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Accept declared filters, and no other lookups from the address."""
        return lookup in self.filters.names


class ReadOnlyAdmin(ListAdmin):
    """Rows that nobody adds, changes or deletes by hand, the newest first."""

    actions: Any = None
    ordering = ["-id"]
    search_fields = SEARCH_OF_FILTERS

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
