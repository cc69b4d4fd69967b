"""Lists say what they are narrowed by, and keep to it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from kilit.lock.models import ErrorGroup
from ociqueue.models import Conversion
from tests.support.dashboard import make_site, site_with_operator

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
QUEUES = [LIST, "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/"]


def shown(answer: Any) -> list[Any]:
    return list(answer.context["cl"].result_list)


def page(client: Client, query: str, path: str = LIST) -> Any:
    """Open a list; it stays at the address that was asked for."""
    answer = client.get(f"{path}?{query}")
    assert answer.status_code == 200, query
    return answer


# Values that no filter knows


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "BOGUS"),
        ("site", "xyz"),
        ("since", "abc"),
        ("from", "notadate"),
        ("to", "9999-12-31"),
        ("bulk", "nonsense"),
    ],
)
def test_a_value_that_no_filter_knows_shows_no_row_and_is_named(name: str, value: str) -> None:
    """A list of everything under a filter would be taken for what the filter left."""
    (_site, client), query = site_with_operator(badly=2, waiting=1), f"{name}={value}"
    sentence = f"The filter “{name}” has no value “{value}”, so nothing matches."

    listed = page(client, query)
    file = client.get(f"{LIST}dead-letters/?{query}", follow=True)

    assert shown(listed) == []
    assert sentence in listed.content.decode()
    assert file.redirect_chain == [(f"{LIST}?{query}", 302)], "no file of every failure"
    assert sentence in file.content.decode()


@pytest.mark.parametrize("path", [*QUEUES, "/admin/ociqueue/uploadbatch/"])
def test_every_list_says_so(admin_client, path: str) -> None:
    make_site()
    name = "site" if "uploadbatch" in path else "status"

    answer = page(admin_client, f"{name}=BOGUS", path)

    assert f"The filter “{name}” has no value “BOGUS”" in answer.content.decode()


@pytest.mark.parametrize("query", ["status=", "status=%20", "from=&to=", "since=", "status=FAILED%20"])
def test_blanks_ask_for_nothing(query: str) -> None:
    _site, client = site_with_operator(badly=2)

    answer = page(client, query)

    assert len(shown(answer)) == 2
    assert "has no value" not in answer.content.decode()


# Pages


@pytest.mark.parametrize(("asked", "number", "rows"), [("900", 2, 1), ("2", 2, 1), ("0", 1, 50), ("-3", 1, 50)])
def test_a_page_beyond_the_last_is_the_last_of_the_same_filter(asked: str, number: int, rows: int) -> None:
    """Retrying all rows of the last page leads back to a page that no longer exists."""
    _site, client = site_with_operator(badly=51, waiting=1)

    answer = page(client, f"status=FAILED&p={asked}")

    assert {row.status for row in shown(answer)} == {"FAILED"}
    assert (answer.context["cl"].page_num, len(shown(answer))) == (number, rows)


# What is said over a list


def said_over(answer: Any) -> str:
    """Return what stands over the table, in one line."""
    html = answer.content.decode()
    over = html[html.index('id="changelist"') : html.index('id="changelist-form"')]
    return " ".join(re.sub("<[^>]*>", " ", over).split())


def test_a_list_says_which_filter_is_on_as_the_bulk_page_does() -> None:
    site, client = site_with_operator("Köşe & Bucak", badly=2)
    ErrorGroup.objects.fold()
    group = Conversion.objects.latest("pk").error_group
    today = timezone.localdate()
    first, last = (today + timedelta(days=days) for days in (-1, 1))  # midnight may come in between

    for query in (
        f"site={site.pk}&status=FAILED",
        f"from={first}&to={last}",
        f"group={group}",
        "since=24",
        "code=X",
        "q=o-1",
    ):
        text = dict(client.get(f"{LIST}all/retry/?{query}").context["facts"])["Filter"]
        listed = page(client, query)
        assert sorted(chip.label for chip in listed.context["cl"].controls.chips()) == sorted(text.split(" · "))
        assert "Filter:" in said_over(listed)
        for part in text.split(" · "):
            assert escape(part) in said_over(listed)
        assert "Clear filters" in said_over(listed)


def test_a_list_without_a_filter_says_nothing() -> None:
    _site, client = site_with_operator(badly=2)

    assert "Filter:" not in said_over(page(client, "p=1"))


def test_an_empty_list_offers_nothing_over_all_that_match() -> None:
    _site, client = site_with_operator(badly=2)

    assert "All rows that match this filter" in said_over(page(client, "code=X"))
    assert "All rows that match this filter" not in said_over(page(client, "code=Y"))
    assert "Filter: error code: Y" in said_over(page(client, "code=Y"))


def test_an_empty_list_says_whether_nothing_matches_or_nothing_is_there() -> None:
    site, client = site_with_operator()

    assert "There is nothing here yet." in page(client, "").content.decode()
    for query, why in {
        "status=FAILED": "No conversions with state: Failed.",
        f"status=FAILED&site={site.pk}": f"No conversions with state: Failed · site: {site.name}.",
        f"site={site.pk}&since=1": f"No conversions with site: {site.name} · age: Last hour.",
        "q=o-1": "No conversions with search: o-1.",
    }.items():
        text = page(client, query).content.decode()
        assert why in text
        assert "Clear filters" in text
        assert "Create a new item" not in text, "rows cannot be added"


@pytest.mark.parametrize(("path", "name"), [*zip(QUEUES, ["Conversions", "PDF jobs", "Jobs"], strict=True)])
def test_a_tab_of_the_browser_is_called_by_what_its_list_shows(admin_client, path: str, name: str) -> None:
    title = re.search("<title>(.*?)</title>", page(admin_client, "", path).content.decode(), re.DOTALL)

    assert title
    assert title[1].split("|")[0].strip() == name
