"""Every address of the console, taken from the URLconf, so that a new page is walked without being named here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver

from kilit.access.models import ApiKey

# Sessions come and go, and refusals and attempts are what the walk makes.
NOT_COMPARED = {
    "session",
    "logentry",
    "deniedrequest",
    "loginwindow",
    "activity",
    "event",
    "countdelta",
    "ratewindow",
}

# Anything else is an error of ours.
ANSWERS = {200, 204, 302, 400, 403, 404, 405}


@dataclass(frozen=True)
class Address:
    """A page: its path, its name, and the model it belongs to."""

    path: str
    name: str
    model: type[Model] | None
    row: Any = None


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Return every route with its full path still unfilled."""

    def below(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
        for pattern in resolver.url_patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from below(pattern, route)
            else:
                yield route, pattern

    return below(get_resolver(), "")


def patterns() -> Iterator[tuple[str, URLPattern]]:
    return ((route, pattern) for route, pattern in routes() if route.startswith("admin/"))


def model_of(name: str) -> type[Model] | None:
    """Return the model that a page's name begins with."""
    found = [
        model for model in admin.site._registry if name.startswith(f"{model._meta.app_label}_{model._meta.model_name}_")
    ]
    return max(found, key=lambda model: len(model._meta.model_name or ""), default=None)


def addresses(rows: dict[type[Model], list[Any]]) -> Iterator[Address]:
    """Return every page with real values in its path: each row given, each verb, each key."""
    for route, pattern in patterns():
        name = pattern.name or ""
        model = model_of(name)
        if "(?P" in route or name == "":
            continue  # Django's answer for unknown paths
        for row in rows.get(model, [None]) if model and "object_id" in route else [None]:
            if "object_id" in route and row is None:
                continue
            for values in fillings(route, model):
                yield Address("/" + fill(route, {"object_id": row, **values}), name, model, row)


def fillings(route: str, model: type[Model] | None) -> Iterator[dict[str, Any]]:
    """Return what may stand for a route's other parts."""
    if "<str:verb>" in route:
        registered: Any = model and admin.site._registry[model]
        for action in registered.actions:
            yield {"verb": action.verb}
    elif "<int:key>" in route:
        yield {"key": ApiKey.objects.filter(user__username__startswith="site-").latest("pk").pk}
    elif "content_type_id" in route:
        yield {
            "content_type_id": ContentType.objects.get_for_model(ApiKey).pk,
            "object_id": ApiKey.objects.earliest("pk").pk,
        }
    else:
        yield {}


def fill(route: str, values: dict[str, Any]) -> str:
    """Put values into a route; a part that nobody knows is the same for all: `x`, 1, or an empty id."""
    parts = []
    for piece in route.split("<"):
        named, closed, rest = piece.partition(">")
        if not closed:
            parts.append(piece)
            continue
        kind, _, part = named.rpartition(":")
        unknown = {"int": 1, "uuid": UUID(int=0)}.get(kind, "x")
        parts.append(str(quote(values.get(part, unknown))) + rest)
    return "".join(parts)


def hand_made(page: Address, rows: Any) -> list[dict[str, Any]]:
    """Return what a caller with inside knowledge might send to a page."""
    common = {"reason": "by hand", "post": "yes", "name": "by hand", "ids": str(page.row or ""), "confirm": "1"}
    if page.model and page.name.endswith("_act"):
        return [{**common, "ids": ",".join(map(str, rows[page.model])), "from_row": "1"}]
    if page.model and page.name.endswith("_changelist"):
        chosen = {"_selected_action": [str(row) for row in rows[page.model]], "index": "0"}
        actions = [*actions_of(page.model), "delete_selected"]
        return [{**common, **chosen, "action": name} for name in actions]
    return [common]


def actions_of(model: Any) -> list[str]:
    given = admin.site._registry[model].actions or ()
    return [action if isinstance(action, str) else action.__name__ for action in given]


def one_of_each() -> dict[type[Model], list[Any]]:
    """Return for each model of the console a row or two, in different states where it has states."""
    found: dict[type[Model], list[Any]] = {}
    for model in admin.site._registry:
        rows = model._base_manager.order_by("pk")
        if any(field.name == "status" for field in model._meta.fields):
            states = list(rows.order_by().values_list("status", flat=True).distinct())
            found[model] = [rows.filter(status=state).earliest("pk").pk for state in sorted(states)]
        else:
            found[model] = list(rows.values_list("pk", flat=True)[:1])
    return found


def everything() -> dict[str, list[str]]:
    """Return all that the product stores, to see whether anything changed."""
    models = set(admin.site._registry) | {
        inline.model for model_admin in admin.site._registry.values() for inline in model_admin.inlines
    }
    return {
        model.__name__: sorted(map(repr, model._base_manager.values_list()))
        for model in models
        if model._meta.model_name not in NOT_COMPARED
    }
