"""The dashboard's address, text and problems, and rows for its figures."""

import re
from collections.abc import Iterable
from typing import Any

from django.test import Client

from kilit.console.dashboard.page import panels
from kilit.console.queue_admin import QueueAdmin
from kilit.problems.registry import Problem, SeesEverything, find_problems
from ociqueue.models import Conversion, Site
from tests.support.conversions import new_conversion
from tests.support.people import make_person


def panel_of(queue: str) -> QueueAdmin:
    return next(panel for panel in panels() if panel.queue.table.queue == queue)


def make_site(name: str = "Mobilya", **columns: Any) -> Site:
    """Store a site."""
    return Site.objects.create(**{"name": name, "default_currency": "TRY", **columns})


def make_conversions(
    site: Site, *, well: int = 0, badly: int = 0, waiting: int = 0, source_keys: Iterable[str] = ()
) -> None:
    """Store conversions that went their ways."""
    keys = iter(source_keys)
    new = [new_conversion(site, source_key=next(keys, None)) for _ in range(well + badly + waiting)]
    Conversion.objects.bulk_create(new[waiting:])
    rows = Conversion.objects.for_site(site)
    rows.claim(limit=well + badly)
    chosen = list(rows.filter(status="PROCESSING").values_list("pk", flat=True))
    rows.filter(pk__in=chosen[:well]).move("ack")
    rows.filter(pk__in=chosen[well:]).ack_failed(code="X", category="VALIDATION", message="")
    Conversion.objects.bulk_create(new[:waiting])


def site_with_operator(name: str = "Mobilya", **numbers: Any) -> tuple[Site, Client]:
    """Store a site with conversions, and log in its operator."""
    site = make_site(name)
    make_conversions(site, **numbers)
    return site, make_person(sites=(site,))


BOARD = "/admin/dashboard/"


def text_of(client: Client, address: str = "/admin/") -> str:
    """Return a page's words, one space apart."""
    answer = client.get(address)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def problems(kind: str, user: Any = None) -> list[Problem]:
    """Return what is wrong of a kind, as far as a user may know, or all of it."""
    return [problem for problem in find_problems(user or SeesEverything()) if problem.kind == kind]
