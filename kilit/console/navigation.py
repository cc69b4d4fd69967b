"""The menu with its tabs, the links below a person's name, and how a breadcrumb begins."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from kilit.access.second_factor import is_on
from kilit.console.dashboard.workers_page import may_see_workers
from kilit.console.menu import ADMINS, DASHBOARD, WORKERS, MenuItem, MenuTab
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import Count
from kilit.lock.table import Kind
from kilit.problems.links import list_path

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
    for model_admin in registered_admins():
        if model_admin.has_view_permission(request):
            tab = tab_of(model_admin)
            title = str(tab.title or capfirst(model_admin.opts.verbose_name_plural))
            yield MenuPage(tab, title, list_path(model_admin.model), model_admin)


def tab_of(model_admin: Any) -> MenuTab:
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
    # One query for the pages that a person opens one after the other.
    key, count = f"failures:{request.user.pk}", partial(_count_failures, request, pages)
    totals = cache.get_or_set(key, count, COUNTED_AGAIN_AFTER) or {}
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


def registered_admins() -> Iterator[Any]:
    return (admin.site.get_model_admin(model) for model in apps.get_models() if admin.site.is_registered(model))
