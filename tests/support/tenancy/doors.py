"""Finds every page of the URLconf and every operation of the schema, and fills in ids of a site.

A new page or operation is in the walk at once. One with a part that nothing here can fill in fails, and says so.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from ociqueue.models import Conversion, Site
from orchestrator.models import Job
from outbox.models import Endpoint, OutboxMessage
from pdfjobs.models import PdfJob
from tests.support.admin_addresses import model_of, routes
from tests.support.api_conformance import schema, template_of
from tests.support.conversions import DAY, YESTERDAY
from tests.support.tenancy.world import Tenant, World, tenants

SAFE = ("GET", "HEAD")
SOON = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# What stands for parts that no row decides.
PARTS = {
    "number": 0,
    "pk": 1,
    "name": "forget_denied_requests",
    "kind": "labels",
    "uidb64": "x",
    "token": "x",
    "part": 1,
    "piece": 1,
}
# The rows behind the ids in the addresses of the API.
ROWS_BY_PATH = {
    "/api/outbox/endpoints/": Endpoint,
    "/api/outbox/messages/": OutboxMessage,
    "/jobs/": Job,
    "/pdf/jobs/": PdfJob,
}
# Addresses of Django's own, which lead elsewhere whatever stands in them.
NO_PAGES = {"admin/(?P<url>.*)$"}
# Ends the session that the walk needs.
NOT_OPENED = {"logout"}


class UnknownPartError(AssertionError):
    def __init__(self, where: str, part: str) -> None:
        super().__init__(f"{where}: say in {__file__} what stands for {part}.")


@dataclass(frozen=True)
class Door:
    """A page or operation, filled in for a row of one site."""

    group: str  # of pages, the model's name; of operations, the address
    name: str
    method: str
    path: str
    target: str = ""  # whose row: own, other, house (the installation's), or "" if there is none
    body: str = ""
    media: str = ""
    model: type[Model] | None = None
    row: Any = None

    @property
    def request(self) -> str:
        return f"{self.path} {self.body}"

    @property
    def label(self) -> str:
        return f"{self.group} {self.name}".strip()


# Pages


def pages(world: World) -> list[Door]:
    return [door for route, pattern in routes() for door in _pages_of(route, pattern.name or "", world)]


def _pages_of(route: str, name: str, world: World) -> Iterator[Door]:
    if route in NO_PAGES or name in NOT_OPENED or not name or template_of("/" + PARAMETER.sub("x", route)):
        return
    if "(?P<app_label>" in route:
        for label in sorted({model._meta.app_label for model in admin.site._registry}):
            yield Door("pages of an app", label, "GET", f"/admin/{label}/")
        return
    model = model_of(name)
    group = str(model._meta.verbose_name) if model else "page"
    short = name.removeprefix(f"{model._meta.app_label}_{model._meta.model_name}_") if model else name
    for target, tenant in _targets(route, model, world):
        row = tenant.rows.get(model or Site)
        for verb in _verbs(route, model):
            values = _values(world, tenant, row) | {"verb": verb}
            shown = f"{short} {verb}".strip()
            yield Door(group, shown, "GET", "/" + fill(route, values), target, model=model, row=row)


def _targets(route: str, model: type[Model] | None, world: World) -> Iterator[tuple[str, Tenant]]:
    if not {"object_id", "id", "key"} & set(PARAMETER.findall(route)):
        yield "", world.own
        return
    for target, tenant in tenants(world):
        if (model or Site) in tenant.rows:
            # What only the installation has, such as PDF jobs, is everyone's who may see it.
            yield target, tenant


def _verbs(route: str, model: type[Model] | None) -> list[str]:
    if "<str:verb>" not in route:
        return [""]
    model_admin: Any = admin.site._registry[model]  # type: ignore[index]
    return [action.verb for action in model_admin.actions]


def _values(world: World, tenant: Tenant, row: Any) -> dict[str, Any]:
    return {
        **PARTS,
        "object_id": row,
        "id": row,
        "key": tenant.site_key,
        "job_id": world.house.rows[Job],
        "pdf_id": world.house.rows[PdfJob],
        "content_type_id": ContentType.objects.get_for_model(Site).pk,
    }


def fill(route: str, values: dict[str, Any]) -> str:
    for part in PARAMETER.findall(route):
        if part not in values:
            raise UnknownPartError(route, f"<{part}>")
    return PARAMETER.sub(lambda found: str(quote(str(values[found[1]]))), route)


def searches(world: World) -> Iterator[Door]:
    """Ask every list, the search and every choice for the other site, by its id and by its word."""
    other = world.other
    for door in pages(world):
        if door.name == "changelist":
            for query in ({"q": str(other.rows[Site])}, {"q": other.word}, {"site": str(other.rows[Site])}):
                yield Door(door.group, "search", "GET", f"{door.path}?{urlencode(query)}", "other")
    for text in (other.word, other.source_key, str(other.rows[Conversion])):
        yield Door("page", "search", "GET", f"/admin/search/?{urlencode({'s': text})}", "other")
    for model, model_admin in admin.site._registry.items():
        for each in (model_admin, *(inline(model, admin.site) for inline in model_admin.inlines)):
            for field in each.autocomplete_fields:
                names = {"app_label": each.model._meta.app_label, "model_name": each.model._meta.model_name}
                query = {**names, "field_name": field, "term": other.word}
                yield Door("page", "choice", "GET", f"/admin/autocomplete/?{urlencode(query)}", "other")


# Operations


def operations(world: World) -> list[Door]:
    return [
        door
        for path, methods in schema()["paths"].items()
        for method, described in methods.items()
        for door in _doors_of(path, method.upper(), described, world)
    ]


def _doors_of(path: str, method: str, described: dict[str, Any], world: World) -> Iterator[Door]:
    """Return a door for each site, or one if they are the same: then it concerns no site."""
    doors = []
    for target, tenant in tenants(world):
        address = _address(path, tenant, world)
        if address is None:
            continue
        query = _query(path, described, tenant)
        body, media = _body(path, described, tenant)
        full = f"{address}?{urlencode(query)}" if query else address
        doors.append(Door(path, method, method, full, target, body, media))
    if len({door.request for door in doors}) == 1:
        first = doors[0]
        yield Door(first.group, first.name, first.method, first.path, "", first.body, first.media)
        return
    of_rows = any(path.startswith(prefix) and "{" in path for prefix in ROWS_BY_PATH)
    yield from (door for door in doors if door.target != "house" or of_rows)


def _address(path: str, tenant: Tenant, world: World) -> str | None:
    """Return the address with an id of the tenant's; None if the tenant has no such row."""
    values = dict(PARTS)
    for prefix, model in ROWS_BY_PATH.items():
        if path.startswith(prefix):
            shared = world.house.rows if model in (Job, PdfJob) else tenant.rows
            values |= {"id": shared.get(model), "job_id": shared.get(model)}
    for part in re.findall(r"\{(\w+)\}", path):
        if part not in values:
            raise UnknownPartError(path, f"{{{part}}}")
        if values[part] is None:
            return None
    return re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), path)


def _names(tenant: Tenant) -> dict[str, Any]:
    """Return what stands for a site in parameters and bodies, by the name of the field."""
    row = f"seal_{tenant.rows.get(Conversion)}"
    of_site = dict.fromkeys(("siteId", "site", "site_id", "publicId"), tenant.public_id)
    times = {"from": YESTERDAY, "to": SOON, "day": DAY, "conversionTime": YESTERDAY}
    rows = {"id": row, "ids": [row], "queueIds": [row], "sourceKey": tenant.source_key, "keys": [tenant.site_key]}
    rows |= {"job": row}
    return {**of_site, **times, **rows, "endpoint": str(tenant.rows.get(Endpoint))}


def _query(path: str, described: dict[str, Any], tenant: Tenant) -> dict[str, Any]:
    known = _names(tenant) | {"phone": "+905551112233"}
    del known["id"], known["endpoint"]  # filters; without them an answer has more
    query = {}
    for parameter in described.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "query" and name in known:
            query[name] = known[name]
        elif parameter["in"] == "query" and parameter.get("required"):
            raise UnknownPartError(path, f"the parameter {name}")
    return query


def _body(path: str, described: dict[str, Any], tenant: Tenant) -> tuple[str, str]:
    for media, content in described.get("requestBody", {}).get("content", {}).items():
        examples = content.get("examples")
        if not examples:
            raise UnknownPartError(path, f"the body: its schema has no example in {media}")
        example = next(iter(examples.values()))["value"]
        return json.dumps(_with_names(example, _names(tenant))), media
    return "", ""


def _with_names(value: Any, names: dict[str, Any], field: str = "") -> Any:
    """Put a site's own ids into an example, wherever a field is named like one."""
    if isinstance(value, dict):
        inner = {key: _with_names(each, names, key) for key, each in value.items()}
        return _existing_site(inner, names) if field == "sites" else inner
    if isinstance(value, list) and (field not in names or isinstance(value[0], dict)):
        return [_with_names(each, names, field) for each in value]
    is_other_id = field == "id" and not str(value).startswith("seal_")
    if field == "sites":
        return names["publicId"]
    return names.get(field, value) if isinstance(value, str | list) and not is_other_id else value


def _existing_site(fields: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return a site to change instead of a new one; its account is that of its credentials."""
    return {**{name: each for name, each in fields.items() if name != "customerId"}, "publicId": names["publicId"]}
