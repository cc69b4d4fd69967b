"""The filters of a list, kept for a bulk action: what the screen would show, and nothing that narrows nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import ValidationError
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from kilit.console.filters import knows_no, moment, parameters_of

# How a list is paged and sorted says nothing about which rows it shows.
PAGING = {"p", "o", "e", "all", "after", "before"}


class Unusable(Exception):  # noqa: N818 - an answer in words
    """Filters that no bulk action may use; the words say why."""


def frozen(model_admin: Any, user: Any, asked: QueryDict) -> dict[str, str]:
    """Return the filters that an address sets, in one order; refuse none, unknown ones, and those that do nothing."""
    given = {name: str(asked[name]).strip() for name in sorted(asked) if name not in PAGING}
    given = {name: value for name, value in given.items() if value}
    if not given:
        raise Unusable(_("Set a filter first: no action is offered over everything there is."))
    with _request(user, given) as request:
        known = {SEARCH_VAR, *(name for name, _filter in _offered(model_admin, request))}
        if unknown := [name for name in given if name not in known]:
            raise Unusable(_("“%(name)s” is no filter of this list.") % {"name": unknown[0]})
        rows = model_admin.get_queryset(request)
        for name, spec in _asked(model_admin, request, given):
            # One that let all rows pass would let the action loose on them.
            if not spec.knows(name) or spec.queryset(request, rows) is rows:
                raise Unusable(knows_no(name, given[name]))
    return given


def in_words(model_admin: Any, user: Any, filters: Mapping[str, str]) -> str:
    """Return filters as the list calls them: a site by its name, not by its id."""
    told = {SEARCH_VAR: _("search")}
    values = dict(filters)
    with _request(user, filters) as request:
        for name, spec in _asked(model_admin, request, filters):
            told[name], values[name] = spec.in_words(name)
    return " · ".join(f"{told[name]}: {value}" for name, value in values.items())


def matching(model_admin: Any, user: Any, filters: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
    """Return the rows that the list shows a user for these filters, as of a moment."""
    token = moment.set(as_of)
    try:
        with _request(user, filters) as request:
            rows = model_admin.get_queryset(request)
            for _name, spec in _asked(model_admin, request, filters):
                rows = spec.queryset(request, rows)
            if SEARCH_VAR in filters:
                rows, _distinct = model_admin.get_search_results(request, rows, filters[SEARCH_VAR])
            return rows
    finally:
        moment.reset(token)


@contextmanager
def _request(user: Any, filters: Mapping[str, str]) -> Any:
    """Give the request that filters are asked with, also where nobody asks by HTTP; nonsense is refused in words."""
    request = HttpRequest()
    request.method = "GET"
    request.user = user
    request.GET = QueryDict(urlencode(filters))
    try:
        yield request
    except (ValidationError, ValueError) as error:
        raise Unusable(_("These filters cannot be used: %(error)s") % {"error": error}) from None


def _offered(model_admin: Any, request: HttpRequest) -> list[tuple[str, Any]]:
    """Return each filter of the list by its name in the address; one of several fields has several."""
    return [(name, offered) for offered in model_admin.get_list_filter(request) for name in parameters_of(offered)]


def _asked(model_admin: Any, request: HttpRequest, filters: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Return each filter that is set, by its name; one of several fields comes once for each, which has to narrow."""
    for name, offered in _offered(model_admin, request):
        if name in filters:
            yield name, offered(request, {name: [filters[name]]}, model_admin.model, model_admin)
