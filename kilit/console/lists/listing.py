"""Lists that stay fast over millions of rows: bounded searches and filters, a capped count."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import display_for_field, label_for_field, lookup_field
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
from kilit.console.formatting import counted, number
from kilit.console.lists.list_controls import ListControls

# Left out where there is no room for them.
MINOR = {"amount", "attempts", "retries", "size", "took", "mode", "parts", "lasting"}
CHECKBOX = "action_checkbox"
MOST_COUNTED = 10_000


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
        return self.declared.apply(queryset, values)


@dataclass(frozen=True)
class Header:
    name: str
    label: str
    sort_href: str = ""
    direction: str = ""  # as aria-sort has it

    @property
    def css(self) -> str:
        return f"column-{self.name}{' kilit-minor' if self.name in MINOR else ''}"


@dataclass(frozen=True)
class Cell:
    name: str
    html: Any

    @property
    def css(self) -> str:
        extra = " kilit-minor" if self.name in MINOR else " kilit-blank" if self.html in ("", "-") else ""
        return f"field-{self.name}{extra}"


@dataclass(frozen=True)
class TableRow:
    pk: str
    href: str
    first: Cell  # what people call the row
    others: list[Cell]


class Table:
    def __init__(self, changelist: Any) -> None:
        self.changelist = changelist
        self.columns = [column for column in changelist.list_display if column != CHECKBOX]
        self.names = [getattr(column, "__name__", column) for column in self.columns]
        self.is_selectable = CHECKBOX in changelist.list_display

    @property
    def headers(self) -> Iterator[Header]:
        changelist = self.changelist
        sorted_by = changelist.get_ordering_field_columns()
        for name, column in zip(self.names, self.columns, strict=True):
            label = str(label_for_field(column, changelist.model, changelist.model_admin))
            if not getattr(column, "admin_order_field", None):
                yield Header(name, label)
                continue
            place = changelist.list_display.index(column)
            now = sorted_by.get(place, "desc")
            turned = {ORDER_VAR: place if now == "desc" else f"-{place}"}
            # Ages grow as times sink.
            direction = "ascending" if now == "desc" else "descending"
            yield Header(name, label, changelist.get_query_string(turned, ["p"]), direction)

    @property
    def rows(self) -> Iterator[TableRow]:
        kept = f"?{self.changelist.preserved_filters}" if self.changelist.preserved_filters else ""
        for row in self.changelist.result_list:
            first, *others = self._cells(row)
            yield TableRow(str(row.pk), f"{self.changelist.url_for_result(row)}{kept}", first, others)

    def _cells(self, row: Any) -> Iterator[Cell]:
        for name, column in zip(self.names, self.columns, strict=True):
            field, _attribute, value = lookup_field(column, row, self.changelist.model_admin)
            value = display_for_field(value, field, "-") if field else value
            yield Cell(name, value)


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
            text = gettext("more than %(rows)s; narrow the filter to see older ones")
            return text % {"rows": counted(self.most, self.object_list.model)}
        return counted(self.count, self.object_list.model)

    def page(self, number: Any) -> Any:
        """Return a page; beyond the last it is the last, because rows leave a list while it is paged through."""
        return super().page(self.nearest(number))

    def nearest(self, number: int) -> int:
        return max(1, min(number, self.num_pages))


class CompletedChangeList(ChangeList):
    """Lets the admin fetch what the rows of a page show, for all of them at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.complete(self.result_list)


class CappedChangeList(CompletedChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    page_num: int
    paginator: CappedPaginator

    def __init__(self, request: HttpRequest, *args: object, **options: object) -> None:
        self.request, self.user = request, request.user
        super().__init__(request, *args, **options)

    def capped_search_text(self) -> str:
        if not getattr(self.request, "search_is_capped", False):
            return ""
        text = gettext("More than %(most)s rows begin with “%(text)s”. Only the first ones were searched: type more.")
        return text % {"most": number(MOST_PER_COLUMN), "text": self.query}

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # hides the number beside the title
        self.page_num = self.paginator.nearest(self.page_num)

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
        return getattr(self.model_admin, "filters", FilterSet())


class ReadOnlyAdmin(ModelAdmin):
    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class CappedListAdmin(ReadOnlyAdmin):
    list_per_page = 50
    list_max_show_all = 0
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: object) -> type[CappedChangeList]:
        return CappedChangeList

    def complete(self, rows: list[Any]) -> None:
        """Fetch what the rows of a page show besides their columns."""


class LongListAdmin(CappedListAdmin):
    list_fullwidth = True
    change_list_template = "admin/console/list.html"
    search_fields = ["=id"]  # shows the box; `filters.search` decides what is found
    filters: FilterSet = FilterSet()
    # Ends of the addresses of buttons above the list that act on what its filters match.
    pages_with_filters: Sequence[str] = ()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        for offered in getattr(response, "context_data", {}).get("actions_list", []):
            if offered["path"].endswith(tuple(self.pages_with_filters)) and request.GET:
                offered["path"] += f"?{request.GET.urlencode()}"
        return response

    def list_controls(self, changelist: CappedChangeList) -> ListControls:
        return ListControls(changelist)

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
        text = bare_id(self.model, search_term.strip())
        if not text:
            return queryset, False
        search = self.filters.search
        if not isinstance(search, PrefixSearch):
            return search(queryset, text), False
        scope = self.filters.accepted(request.GET, request.user, among=search.scope)
        result = search.first(self.filters.apply(self.get_queryset(request), scope), text)
        request.search_is_capped = result.is_capped  # type: ignore[attr-defined] # for the change list
        return queryset.filter(pk__in=result.ids), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Accept declared filters, and no other lookups from the address."""
        return lookup in self.filters.names
