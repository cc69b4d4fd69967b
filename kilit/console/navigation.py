"""The sidebar, and Ctrl+K: pages, sites and rows of every queue, by the first letters of what people call them."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from kilit.access.second_factor import is_on
from kilit.batches.filters import SEARCH, bare_id
from kilit.batches.queues import queues
from kilit.batches.search import PrefixSearch
from kilit.console.dashboard.workers_page import may_see_workers
from kilit.console.lists.bulk_requests import encode
from kilit.console.queue_admin import QueueAdmin
from kilit.problems.links import row_path

OPERATIONS = ("problems", "bulk", "lock", "access")  # shown as one group, below the queues
PEOPLE = ("auth", "axes")
LAST = 99  # of a group: pages without a place
MOST_PER_KIND = 5
FEWEST_LETTERS = 2
LONGEST = 512  # a click id


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    first = [_link(_("Dashboard"), "dashboard", reverse("admin:index"))]
    if may_see_workers(request):
        first.append(_link(_("Workers and scheduled tasks"), "monitor_heart", reverse("console:workers")))
    apps = sorted(_grouped(admin.site.get_app_list(request)), key=lambda app: _place(app["app_label"]))
    groups = [{"title": _title(app), "separator": True, "items": _models(app)} for app in apps]
    api = {"separator": True, "items": [_link(_("API"), "api", reverse("api-docs"))]}
    return [{"items": first}, *groups, api]


def account(request: HttpRequest) -> list[dict[str, Any]]:
    links = [(_("Time zone"), "preferences"), (_("Change password"), "admin:password_change")]
    if is_on():
        links.append((_("Two-factor authentication"), "second_factor"))
    return [{"title": title, "link": reverse(name)} for title, name in links]


def _grouped(apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    operations = [model for app in apps if app["app_label"] in OPERATIONS for model in app["models"]]
    others = [app for app in apps if app["app_label"] not in OPERATIONS]
    group = {"app_label": "operations", "name": _("Operations"), "models": operations}
    return [*others, group] if operations else others


def _title(app: dict[str, Any]) -> str:
    """Return the title of a group; it is empty if the only page has the same name."""
    name: str = app["name"]
    return "" if [model["name"].lower() for model in app["models"]] == [name.lower()] else name


def _models(app: dict[str, Any]) -> list[dict[str, object]]:
    models = sorted(app["models"], key=lambda model: _menu(model["model"])[0])
    return [
        _link(model["name"], _menu(model["model"])[1], model["admin_url"]) for model in models if model["admin_url"]
    ]


def _menu(model: type[Model]) -> tuple[int, str]:
    """Return the place and the icon that a page declares as its `menu`."""
    menu: tuple[int, str] = getattr(admin.site.get_model_admin(model), "menu", (LAST, "list"))
    return menu


def _link(title: object, icon: str, address: str) -> dict[str, object]:
    return {"title": title, "icon": icon, "link": address}


def _place(label: str) -> int:
    """Return the place of a group: the queues in the order of their apps, then operations, people and the rest."""
    labels = [*dict.fromkeys(queue.model._meta.app_label for queue in queues.values()), "operations", *PEOPLE]
    return labels.index(label) if label in labels else len(labels)


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
    for group in sidebar(request):
        for item in group["items"]:
            if text.casefold() in str(item["title"]).casefold():
                description = str(group.get("title") or _("Page"))
                yield SearchResult(str(item["title"]), description, str(item["link"]), item["icon"])
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
    return SearchResult(title, description, row_path(row), _menu(model_admin.model)[1])


def _names(model_admin: Any) -> str:
    return str(capfirst(model_admin.opts.verbose_name_plural))
