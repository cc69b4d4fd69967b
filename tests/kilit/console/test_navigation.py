"""One product: the menu, its tabs, names and ways back."""

import re

import pytest
from django.contrib import admin

from kilit.batches.queues import queues
from kilit.console.navigation import menu, sidebar
from tests.support.dashboard import make_conversions, make_site
from tests.support.stock import RULES

pytestmark = pytest.mark.django_db

OF_VIEWERS = ["Dashboard", "Conversions", "Sites", "PDFs", "Jobs", "Activity"]
OF_OPERATORS = ["Dashboard", "Conversions", "Sites", "PDFs", "Jobs", "Customers", "Webhooks", "Activity", "Workers"]
OF_ADMINS = [*OF_OPERATORS, "People", "Alerts", "Records"]
SHIPPED = 5  # queues; one that is added has an item of its own
LINK = re.compile(r'<a href="([^"]+)"[^>]*>(?:\s*<span class[^>]*>.*?</span>)?\s*(?:<span>)?\s*(.*?)\s*<', re.DOTALL)


def links(client, address: str = "/admin/") -> dict[str, str]:
    """Return the titles in the menu, by address."""
    html = client.get(address).text
    lists = re.findall(r'<ol class="flex flex-col gap-0.5 px-6.*?</ol>', html, re.DOTALL)
    return dict(LINK.findall("".join(lists)))


def tabs(client, address: str) -> dict[str, str]:
    html = client.get(address).text
    found = re.search(r'<nav id="tabs-items".*?</nav>', html, re.DOTALL)
    return dict(LINK.findall(found[0])) if found else {}


@pytest.mark.parametrize(
    ("role", "titles"),
    [("viewer", OF_VIEWERS), ("operator", OF_OPERATORS), ("admin", OF_ADMINS), ("owner", OF_ADMINS)],
)
def test_each_role_has_the_items_that_it_uses_and_they_open(make_person, role, titles) -> None:
    client = make_person(role=role)

    shown = links(client)

    assert [title for title in shown.values() if title in OF_ADMINS] == titles
    assert len(shown) <= len(titles) + len(queues) - SHIPPED
    assert {client.get(address).status_code for address in shown} == {200}


def test_every_page_has_a_place_in_the_menu(rf, admin_user, settings, tmp_path) -> None:
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(RULES)  # with a store
    request = rf.get("/admin/")
    request.user = admin_user

    pages = [page for pages in menu(request).values() for page in pages]

    assert {page.model_admin.model for page in pages if page.model_admin} == set(admin.site._registry)
    places = [(page.tab.item.place, page.tab.place) for page in pages]
    assert len(places) == len(set(places))
    assert all(item.icon for item in menu(request))


@pytest.mark.parametrize(
    ("role", "address", "titles"),
    [
        ("operator", "/admin/", ["Dashboard", "Problems"]),
        ("operator", "/admin/problems/problemrecord/", ["Dashboard", "Problems"]),
        ("viewer", "/admin/ociqueue/conversion/", ["Conversions", "Adjustments", "Imports"]),
        ("viewer", "/admin/ociqueue/importjob/", ["Conversions", "Adjustments", "Imports"]),
        ("operator", "/admin/ociqueue/site/", ["Sites", "Upload batches"]),
        ("operator", "/admin/orchestrator/job/", ["Jobs", "Drafts", "Setup"]),
        ("operator", "/admin/orchestrator/rulesversion/", ["Jobs", "Drafts", "Setup"]),
        ("operator", "/admin/outbox/outboxmessage/", ["Endpoints", "Messages"]),
        ("operator", "/admin/lock/activity/", []),
        ("admin", "/admin/auth/user/", ["Users", "API keys"]),
        ("admin", "/admin/ociqueue/erasure/", ["Erasures", "Logins"]),
        ("owner", "/admin/lock/pruning/", ["Erasures", "Logins", "Denied requests", "Pruned rows", "Audits"]),
    ],
)
def test_pages_of_one_item_are_tabs(make_person, role, address, titles) -> None:
    client = make_person(role=role)

    shown = tabs(client, address)

    assert list(shown.values()) == titles
    assert {client.get(tab).status_code for tab in shown} <= {200}


def test_the_item_of_a_page_is_marked_on_its_tabs_and_rows(rf, admin_user) -> None:
    for path, title in {
        "/admin/": "Dashboard",
        "/admin/problems/problemrecord/": "Dashboard",
        "/admin/ociqueue/adjustment/": "Conversions",
        "/admin/ociqueue/adjustment/1/change/": "Conversions",
        "/admin/bulk/bulkaction/1/change/": "Activity",
    }.items():
        request = rf.get(path)
        request.user = admin_user
        assert [item["title"] for group in sidebar(request) for item in group["items"] if item["active"]] == [title]


def test_failures_are_counted_beside_the_items_of_those_who_see_them(make_person) -> None:
    site, other = make_site("Ege"), make_site("Kent")
    make_conversions(site, badly=2, well=1)
    make_conversions(other, badly=1)

    def failures(client) -> list[str]:
        return re.findall(r'class="kilit-failures"[^>]*>(.*?)<', client.get("/admin/workers/").text)

    assert failures(make_person("owner", role="owner")) == ["3"]
    assert failures(make_person("member", role="operator", sites=[site])) == ["2"]
    assert failures(make_person("stranger", role="operator")) == []


def test_operators_find_their_alerts_in_the_menu_of_their_account(make_person) -> None:
    assert 'href="/admin/outbox/channel/"' in make_person("ayse", role="operator").get("/admin/").text
    assert 'href="/admin/outbox/channel/"' not in make_person("can", role="viewer").get("/admin/").text
