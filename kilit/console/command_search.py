"""Ctrl+K: actions, pages, sites, people and rows of every queue, by the first letters of what people call them."""

from collections.abc import Iterator
from html import unescape
from time import perf_counter
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import strip_tags
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.dataclasses import SearchResult

from kilit.batches.filters import SEARCH
from kilit.batches.search import MOST_PER_COLUMN
from kilit.console.navigation import account, menu, registered_admins, tab_of
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.folding import fold_text
from kilit.problems.links import list_path, row_path

MOST_PER_KIND = 5
FEWEST_LETTERS = 2
LONGEST = 512  # a click id


def command_search(request: HttpRequest) -> HttpResponse:
    """Return what was found, as unfold's dialog shows it; unlike unfold's own view it reads a few rows and no more."""
    text, begun = request.GET.get("s", "").strip()[:LONGEST], perf_counter()
    if not text:
        return HttpResponse()
    results = Paginator([*_pages(request, text), *_places(request, text), *_rows(request, text)], per_page=100)
    context = {
        "page_obj": results,
        "results": results.page(1),
        "page_counter": 0,
        "command_show_history": False,
        "execution_time": perf_counter() - begun,
    }
    return TemplateResponse(request, "unfold/helpers/command_results.html", context, headers={"HX-Trigger": "search"})


def _pages(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Find actions and pages that have each word, or its beginning."""
    words = fold_text(text).split()
    for result in (*_actions(request), *_items(request)):
        names = f" {fold_text(str(result.title))}"
        if all(f" {word}" in names for word in words):
            yield result


def _actions(request: HttpRequest) -> Iterator[SearchResult]:
    for model_admin in _admins(request):
        for title, href, _is_primary in [*model_admin.links(request), *model_admin.commands(request)]:
            yield SearchResult(title, _names(model_admin), href, tab_of(model_admin).item.icon)


def _items(request: HttpRequest) -> Iterator[SearchResult]:
    for item, pages in menu(request).items():
        for page in pages:
            if page.tab.is_offered:
                yield SearchResult(page.title, str(item.title), page.href, item.icon)
    for link in account(request):
        yield SearchResult(str(link["title"]), _("Page"), str(link["link"]), "person")


def _places(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    for model_admin in _admins(request):
        if model_admin.is_searched:
            rows, _distinct = model_admin.get_search_results(request, model_admin.get_queryset(request), text)
            # Their ids first: to find the newest, PostgreSQL might read all rows in the order of their ids.
            ids = list(rows.order_by().values_list("pk", flat=True)[:MOST_PER_COLUMN])
            for row in model_admin.get_queryset(request).filter(pk__in=ids).order_by("-pk")[:MOST_PER_KIND]:
                yield _result(model_admin, row, *model_admin.describe_result(row))


def _rows(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    """Find rows of all queues, the newest first, and then the lists that have more."""
    if len(text) < FEWEST_LETTERS:
        return
    rows: list[tuple[Any, SearchResult]] = []
    lists = []
    for model_admin in _admins(request):
        if isinstance(model_admin, QueueAdmin):
            visible = model_admin.get_queryset(request)
            result = model_admin.queue.search(visible, text)
            newest = visible.filter(pk__in=result.ids).order_by("-pk")[:MOST_PER_KIND]
            rows += [(row.pk, _row_result(model_admin, row)) for row in newest]
            if len(result.ids) > MOST_PER_KIND:
                lists.append(_list_result(model_admin, text))
    yield from (result for _pk, result in sorted(rows, key=lambda row: row[0], reverse=True))
    yield from lists


def _row_result(model_admin: QueueAdmin, row: Any) -> SearchResult:
    page, state = model_admin.page, str(model_admin.states.labels[row.status])
    return _result(model_admin, row, page.name(row), unescape(strip_tags(page.belongs_to(row))), state)


def _list_result(model_admin: QueueAdmin, text: str) -> SearchResult:
    title = _("All that begin with “%(text)s”") % {"text": text}
    return SearchResult(title, _names(model_admin), list_path(model_admin.model, **{SEARCH: text}), "search")


def _result(model_admin: Any, row: Any, title: str, *more: str) -> SearchResult:
    description = " · ".join(filter(None, [*more, str(capfirst(model_admin.opts.verbose_name))]))
    return SearchResult(title, description, row_path(row), tab_of(model_admin).item.icon)


def _admins(request: HttpRequest) -> Iterator[Any]:
    return (model_admin for model_admin in registered_admins() if model_admin.has_view_permission(request))


def _names(model_admin: Any) -> str:
    return str(capfirst(model_admin.opts.verbose_name_plural))
