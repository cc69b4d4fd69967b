"""Lists with a line for each row that stay fast over millions: bounded searches and filters, a capped count."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.utils import display_for_field, label_for_field, lookup_field
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR, PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.text import capfirst, smart_split
from django.utils.translation import gettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kilit.batches.filters import FilterSet, bare_id
from kilit.batches.search import MOST_PER_COLUMN, PrefixSearch
from kilit.console.formatting import find_object, number
from kilit.console.lists.confirming import confirm_page
from kilit.console.lists.list_controls import ListControls
from kilit.console.lists.paging import CappedPaginator

MOST_SORTED = 1_000  # in memory
SEARCH_OF_FILTERS = ["=id"]  # shows the box; `filters.search` decides what is found
# Left out where there is no room for them.
MINOR = {"amount", "attempts", "retries", "size", "took", "mode", "parts", "lasting"}
# The column that takes the room that the others leave: the first of these, or else the first of the list.
WIDE = ("error", "problem", "what", "alarms", "message", "note", "result", "path", "events", "filters")
CHECKBOX = "action_checkbox"
EMPTY = "-"
BLANK = ("", EMPTY, "0")  # not worth a word on a phone
CREATED = "id"  # ids sort by time: ages grow as they sink
OTHER_WAY = {"asc": "-", "desc": ""}
DIRECTIONS = {"asc": "ascending", "desc": "descending"}  # as aria-sort has them
TURNED = {"asc": "desc", "desc": "asc"}


class Header(NamedTuple):
    name: str
    label: str
    css: str = ""
    sort_href: str = ""
    direction: str = ""


class Cell(NamedTuple):
    css: str
    html: Any
    label: str = ""  # of a number, on a phone


class TableRow(NamedTuple):
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
        self.wide = next((name for name in WIDE if name in self.names), self.names[0])

    @property
    def headers(self) -> Iterator[Header]:
        changelist = self.changelist
        sorted_by = changelist.get_ordering_field_columns()
        for name, column in zip(self.names, self.columns, strict=True):
            label, css = self._label(column), f"column-{name}{self._extra_css(name)}"
            order, key = changelist.get_ordering_field(column), sort_key(changelist, column)
            if not (key and changelist.is_short) and (order is None or column not in changelist.sortable_by):
                yield Header(name, label, css)
                continue
            place = changelist.list_display.index(column)
            now = sorted_by.get(place, "")
            # The largest number first, and the first letter of the alphabet.
            sign = OTHER_WAY[now] if now else "-" if key else ""
            direction = TURNED.get(now, "") if order == CREATED else now
            href = changelist.get_query_string({ORDER_VAR: f"{sign}{place}"}, ["p"])
            yield Header(name, label, css, href, DIRECTIONS.get(direction, ""))

    @property
    def rows(self) -> Iterator[TableRow]:
        kept = f"?{self.changelist.preserved_filters}" if self.changelist.preserved_filters else ""
        numbers = [self._label(column) if sort_key(self.changelist, column) else "" for column in self.columns]
        css = [f"field-{name}{self._extra_css(name)}" for name in self.names]
        for row in self.changelist.result_list:
            first, *others = self._cells(row, css, numbers)
            # Some rows have no page.
            href = f"{self.changelist.url_for_result(row)}{kept}" if self.changelist.list_display_links else ""
            yield TableRow(str(row.pk), href, first, others)

    def _label(self, column: Any) -> str:
        return str(label_for_field(column, self.changelist.model, self.changelist.model_admin))

    def _extra_css(self, name: str) -> str:
        return f"{' kilit-minor' if name in MINOR else ''}{' kilit-rest' if name == self.wide else ''}"

    def _cells(self, row: Any, css: list[str], numbers: list[str]) -> Iterator[Cell]:
        for column, css_class, label in zip(self.columns, css, numbers, strict=True):
            field, _attribute, value = lookup_field(column, row, self.changelist.model_admin)
            value = display_for_field(value, field, EMPTY) if field else value
            yield Cell(f"{css_class}{' kilit-blank' if str(value) in BLANK else ''}", value, label)


def sort_key(changelist: Any, column: Any) -> Callable[[Any], Any] | None:
    """Return what rows are sorted by in memory; for a column that is named, its function is in the admin."""
    function = getattr(changelist.model_admin, column, None) if isinstance(column, str) else column
    return getattr(function, "sort_key", None)


class RowList(ChangeList):
    """The rows of a page of a list, sorted along an index, or in memory while they are few."""

    page_num: int
    paginator: CappedPaginator
    result_list: Any

    def __init__(self, request: HttpRequest, *args: object, **options: object) -> None:
        self.request, self.user = request, request.user
        super().__init__(request, *args, **options)

    def get_filters(self, request: HttpRequest) -> tuple[list[Any], bool, dict[str, Any], bool, bool]:
        """Accept declared filters, and no other lookups from the address."""
        for name in self.get_filters_params():
            if name not in self._filters.names:
                raise DisallowedModelAdminLookup(f"Filtering by {name} not allowed")
        return [], False, {}, False, False

    def get_queryset(self, *args: object, **options: object) -> Any:
        """Return the rows that match; a value that is not accepted matches nothing."""
        rows, values = super().get_queryset(*args, **options), self._filters.given(self.params)
        if self._filters.rejected(values, self.user):
            return rows.none()
        for item in self._filters:
            rows = rows if item.name in values else rows.filter(item.unless_set)
        return self._filters.apply(rows, values)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # hides the number beside the title
        self.page_num = self.paginator.nearest(self.page_num)
        key, is_reversed = self._sort_key()
        if self.paginator.is_first_page and (not key or not self.multi_page):
            rows = self.paginator.first_rows[: self.list_per_page]
        else:
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
        return self.model_admin.controls_class(self)

    @property
    def _filters(self) -> FilterSet:
        return self.model_admin.filters


class ListLink(NamedTuple):
    title: str
    href: str
    is_primary: bool = False  # a button; the others are in a menu


class ListPage(NamedTuple):
    """A page of a list. Its menu and Ctrl+K offer one that has a title."""

    show: Callable[..., HttpResponseBase]
    title: StrOrPromise = ""
    permission: str = "view"
    is_primary: bool = False
    keeps_filters: bool = False  # it acts on what they match
    route: str = ""  # if it is not its name


class RowPage(NamedTuple):
    """A page of one row. Where it returns no response, or was opened without the form it needs, another follows."""

    show: Callable[..., HttpResponseBase | None]
    permission: str = "view"
    is_posted: bool = False
    back: str = "change"
    route: str = ""  # if it is not its name


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
    list_class: type[RowList] = RowList
    controls_class: type[ListControls] = ListControls
    list_pages: Mapping[str, ListPage] = {}
    row_pages: Mapping[str, RowPage] = {}
    is_searched = False  # by Ctrl+K, besides queues

    def get_changelist(self, request: HttpRequest, **options: object) -> type[RowList]:
        return self.list_class

    def describe_result(self, row: Any) -> tuple[str, ...]:
        """Return what Ctrl+K shows of a row: its name, and what tells it from others."""
        return (str(row),)

    def commands(self, request: HttpRequest) -> Iterable[ListLink]:
        """Return what Ctrl+K offers besides pages, each with its address."""
        return ()

    def complete(self, rows: list[Any]) -> None:
        """Fetch what the rows of a page show besides their columns."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        context: dict[str, Any] = getattr(response, "context_data", None) or {}
        if "cl" in context:
            query = f"?{request.GET.urlencode()}" if request.GET else ""
            links = [*context.pop("further_links", []), *self.links(request, query)]
            context["main_link"] = next((link for link in links if link.is_primary), None)
            context["menu_links"] = [link for link in links if link is not context["main_link"]]
        return response

    def may(self, permission: str, request: HttpRequest, *row: Any) -> bool:
        return bool(getattr(self, f"has_{permission}_permission")(request, *row))

    def links(self, request: HttpRequest, query: str = "") -> list[ListLink]:
        links = [
            ListLink(str(page.title), self.address(name) + (query if page.keeps_filters else ""), page.is_primary)
            for name, page in self.list_pages.items()
            if page.title and self.may(page.permission, request)
        ]
        if self.has_add_permission(request):
            title = capfirst(gettext("Add %(name)s") % {"name": self.opts.verbose_name})
            links.append(ListLink(title, self.address("add"), is_primary=True))
        return links

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Show a form with one button."""
        context |= {"show_save_and_continue": False, "show_save_and_add_another": False}
        response: HttpResponse = super().render_change_form(request, context, **options)
        return response

    def get_paginator(self, request: HttpRequest, *args: object, **options: object) -> CappedPaginator:
        paginator: CappedPaginator = super().get_paginator(request, *args, **options)
        bounds = [self.filters[name].most_counted for name in self.filters.given(request.GET)]
        paginator.most = min(bound for bound in (paginator.most, *bounds) if bound)
        paginator.is_first_page = request.GET.get(PAGE_VAR, "1") == "1" and ALL_VAR not in request.GET
        return paginator

    def address(self, name: str, *args: object) -> str:
        return reverse(f"admin:{self.view_name(name)}", args=args)

    def view_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def route(self, route: str, name: str, view: Callable[..., HttpResponseBase]) -> URLPattern:
        return path(route, self.admin_site.admin_view(view), name=self.view_name(name))

    def get_urls(self) -> list[object]:
        kinds: Any = [(self.list_pages, "", self.list_page), (self.row_pages, "<path:object_id>/", self.row_page)]
        own = [
            self.route(f"{before}{page.route or name.replace('_', '-')}/", name, partial(view, page))
            for pages, before, view in kinds
            for name, page in pages.items()
        ]
        return [*own, *super().get_urls()]

    def list_page(self, page: ListPage, request: HttpRequest, **values: Any) -> HttpResponseBase:
        if not self.may(page.permission, request):
            raise PermissionDenied
        return page.show(self, request, **values)

    def row_page(self, page: RowPage, request: HttpRequest, object_id: str, **values: Any) -> HttpResponseBase:
        if not self.may(page.permission, request):
            raise PermissionDenied
        row = find_object(self, request, object_id, permission=page.permission)
        # Logging in again leads here without the form.
        response = None if page.is_posted and request.method != "POST" else page.show(self, request, row, **values)
        return response or HttpResponseRedirect(self.address(page.back, row.pk))

    def confirm(self, request: HttpRequest, row: Any = None, **context: Any) -> HttpResponse:
        """Ask before something is done, and lead back to the row's page, or to the list."""
        back = self.address("change", row.pk) if row else self.address("changelist")
        return confirm_page(self, request, **{"original": row, "back": back, **context})

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if self.search_fields != SEARCH_OF_FILTERS:
            for word in smart_split(search_term) if self.search_fields else ():
                first, *others = self.matches(word.strip("\"'"))
                queryset = queryset.filter(pk__in=first.union(*others))
            return queryset, False
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

    def matches(self, word: str) -> list[QuerySet[Any]]:
        """Return a query for each field, which its index serves: an OR across tables would read all rows."""
        rows = self.model._default_manager.order_by().values("pk")
        return [rows.filter(**{lookup: word}) for lookup in self.search_fields]


class ReadOnlyAdmin(ListAdmin):
    """Rows that nobody adds, changes or deletes by hand, the newest first."""

    actions: Any = None
    ordering = ["-id"]
    search_fields = SEARCH_OF_FILTERS

    def has_no_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = has_no_permission
