"""The menu with its tabs, and Ctrl+K: pages, sites and rows of every queue, by the first letters of their names."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from kilit.access.second_factor import is_on
from kilit.batches.filters import SEARCH, bare_id
from kilit.batches.search import PrefixSearch
from kilit.console.dashboard.workers_page import may_see_workers
from kilit.console.lists.bulk_requests import encode
from kilit.console.menu import ADMINS, DASHBOARD, WORKERS, MenuItem, MenuTab
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import Count
from kilit.lock.table import Kind
from kilit.problems.links import list_path, row_path

MOST_PER_KIND = 5
FEWEST_LETTERS = 2
LONGEST = 512  # a click id
COUNTED_AGAIN_AFTER = 10  # seconds


class MenuPage(NamedTuple):
    tab: MenuTab
    title: str
    href: str
    model_admin: Any = None

    @property
    def name(self) -> str:
        """The name by which unfold finds the tabs of a page."""
        return str(self.model_admin.opts) if self.model_admin else self.href


def menu(request: HttpRequest) -> dict[MenuItem, list[MenuPage]]:
    """Return the items that a user has, in their order, each with its pages."""
    items: dict[MenuItem, list[MenuPage]] = {}
    for page in visible_pages(request):
        if _has(request, page.tab.item):
            items.setdefault(page.tab.item, []).append(page)
    return items


def visible_pages(request: HttpRequest) -> list[MenuPage]:
    """Return what a user may see, in the menu's order; found once for each request."""
    pages: list[MenuPage] | None = request.__dict__.get("menu_pages")
    if pages is None:
        pages = sorted(_pages_of(request), key=lambda page: (page.tab.item.place, page.tab.place))
        request.__dict__["menu_pages"] = pages
    return pages


def _pages_of(request: HttpRequest) -> Iterator[MenuPage]:
    yield MenuPage(MenuTab(DASHBOARD), str(DASHBOARD.title), reverse("admin:index"))
    if may_see_workers(request):
        yield MenuPage(MenuTab(WORKERS), str(WORKERS.title), reverse("console:workers"))
    for model_admin in _admins():
        if model_admin.has_view_permission(request):
            tab = _tab(model_admin)
            title = str(tab.title or capfirst(model_admin.opts.verbose_name_plural))
            yield MenuPage(tab, title, list_path(model_admin.model), model_admin)


def _tab(model_admin: Any) -> MenuTab:
    place: MenuItem | MenuTab = model_admin.menu
    return place.tab(0) if isinstance(place, MenuItem) else place


def _has(request: HttpRequest, item: MenuItem) -> bool:
    return not item.permission or request.user.has_perm(item.permission)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    failed = _failures(request)
    groups: dict[bool, list[dict[str, Any]]] = {}
    for item, pages in menu(request).items():
        is_active = any(_is_open(request, page) for page in pages)
        link = {"title": item.title, "icon": item.icon, "link": pages[0].href, "active": is_active}
        groups.setdefault(item.permission == ADMINS, []).append({**link, "badge": failed.get(item)})
    return [{"separator": is_of_admins, "items": items} for is_of_admins, items in groups.items()]


def tabs(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the tabs of each item with several pages, as unfold shows them."""
    groups = []
    for pages in menu(request).values():
        offered = [page for page in pages if page.tab.is_offered]
        if len(offered) > 1:
            items = [{"title": page.title, "link": page.href, "active": _is_open(request, page)} for page in offered]
            groups.append({"page": offered[0].name, "models": [page.name for page in offered], "items": items})
    return groups


def on_page(request: HttpRequest) -> dict[str, object]:
    """Return how a breadcrumb begins: with the item of the menu, and a tab but the first; unfold calls it."""
    pages = visible_pages(request)
    here = next((page for page in pages if _is_open(request, page)), pages[0])
    first = next(page for page in pages if page.tab.item == here.tab.item)
    further = [] if here is first else [(here.title, here.href)]
    return {"crumbs": [(first.tab.item.title, first.href), *further]}


def _is_open(request: HttpRequest, page: MenuPage) -> bool:
    is_first = page.href == reverse("admin:index")
    return request.path == page.href if is_first else request.path.startswith(page.href)


def _failures(request: HttpRequest) -> Counter[MenuItem]:
    """Count the rows that rest until a person acts, from the same totals as the dashboard."""
    pages = [page for pages in menu(request).values() for page in pages if isinstance(page.model_admin, QueueAdmin)]
    totals: dict[str, int] = cache.get_or_set(  # one query for the pages that a person opens one after the other
        f"failures:{request.user.pk}", lambda: _count_failures(request, pages), COUNTED_AGAIN_AFTER
    )
    failed = Counter[MenuItem]()
    for page in pages:
        failed[page.tab.item] += totals.get(page.model_admin.queue.table.queue, 0)
    return failed


def _count_failures(request: HttpRequest, pages: list[MenuPage]) -> dict[str, int]:
    scopes: dict[object, list[str] | None] = {}  # queues with the same rule are asked once
    wanted = {}
    for queue in (page.model_admin.queue for page in pages):
        rule = type(queue).scopes_seen_by
        if rule not in scopes:
            scopes[rule] = queue.scopes_seen_by(request.user)
        wanted[queue.table.queue] = (queue.table.of_kind(Kind.FAILED), scopes[rule])
    return dict(Count.objects.in_states(wanted))


def account(request: HttpRequest) -> list[dict[str, Any]]:
    links = [(_("Time zone"), "preferences"), (_("Change password"), "admin:password_change")]
    if is_on():
        links.append((_("Two-factor authentication"), "second_factor"))
    links.append((_("API"), "api-docs"))
    own = [page for page in visible_pages(request) if page.tab.item.is_personal and not _has(request, page.tab.item)]
    return [
        *({"title": page.tab.item.title, "link": page.href} for page in own),
        *({"title": title, "link": reverse(name)} for title, name in links),
    ]


def command_search(request: HttpRequest) -> HttpResponse:
    """Return what was found, as unfold's dialog shows it; unlike unfold's own view it reads a few rows and no more."""
    text = request.GET.get("s", "").strip()[:LONGEST]
    if not text:
        return HttpResponse()
    results = Paginator([*_rows(request, text), *_places(request, text), *_pages(request, text)], per_page=100)
    context = {"page_obj": results, "results": results.page(1), "page_counter": 0, "command_show_history": False}
    return TemplateResponse(request, "unfold/helpers/command_results.html", context, headers={"HX-Trigger": "search"})


def _rows(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    if len(text) < FEWEST_LETTERS:
        return
    for model_admin in _admins():
        if isinstance(model_admin, QueueAdmin) and model_admin.has_view_permission(request):
            yield from _rows_of(model_admin, request, text)


def _rows_of(model_admin: QueueAdmin, request: HttpRequest, text: str) -> Iterator[SearchResult]:
    search = model_admin.filters.search
    if not isinstance(search, PrefixSearch):
        return
    rows = model_admin.get_queryset(request)
    result = search.first(rows, bare_id(model_admin.model, text), most=MOST_PER_KIND)
    newest = rows.filter(pk__in=result.ids).order_by("-pk")[:MOST_PER_KIND]
    for row in newest:
        description = f"{capfirst(model_admin.opts.verbose_name)} · {row.status}"
        yield _result(model_admin, row, model_admin.page.name(row), description)
    if result.is_capped:
        listed = f"{model_admin.address('changelist')}?{encode({SEARCH: text})}"
        yield SearchResult(_("All that begin with “%(text)s”") % {"text": text}, _names(model_admin), listed, "search")


def _places(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    for model_admin in _places_admins(request):
        rows, _distinct = model_admin.get_search_results(request, model_admin.get_queryset(request), text)
        for row in rows[:MOST_PER_KIND]:
            yield _result(model_admin, row, str(row), str(capfirst(model_admin.opts.verbose_name)))


def _pages(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    for item, pages in menu(request).items():
        for page in pages:
            if page.tab.is_offered and text.casefold() in f"{item.title} {page.title}".casefold():
                yield SearchResult(page.title, str(item.title), page.href, item.icon)
    for link in account(request):
        if text.casefold() in str(link["title"]).casefold():
            yield SearchResult(str(link["title"]), _("Page"), link["link"], "person")
    for model_admin in _places_admins(request):
        title = _("Add a %(name)s") % {"name": model_admin.opts.verbose_name}
        if model_admin.has_add_permission(request) and text.casefold() in title.casefold():
            href = reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_add")
            yield SearchResult(title, _("Page"), href, "add")


def _places_admins(request: HttpRequest) -> Iterator[Any]:
    for model_admin in _admins():
        if getattr(model_admin, "is_searched", False) and model_admin.has_view_permission(request):
            yield model_admin


def _admins() -> Iterator[Any]:
    return (admin.site.get_model_admin(model) for model in apps.get_models() if admin.site.is_registered(model))


def _result(model_admin: Any, row: Any, title: str, description: str) -> SearchResult:
    return SearchResult(title, description, row_path(row), _tab(model_admin).item.icon)


def _names(model_admin: Any) -> str:
    return str(capfirst(model_admin.opts.verbose_name_plural))
