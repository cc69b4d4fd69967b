"""Exports that are asked for in pages; without being asked, an export answers as scripts in the field expect."""

from typing import Any

import pytest

from kilit.api.cursor import encode_cursor
from ociqueue.models import Conversion, Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows(site, make_conversion) -> list[Conversion]:
    return [make_conversion(site, gclid=f"Cj0KCQ-{number}") for number in range(5)]


def pages(api: Any, site: Site, *, claim: str) -> list[dict[str, Any]]:
    """Ask as a script does: until there is no cursor."""
    query = {"siteId": site.public_id, "markAsExported": claim, "limit": 2, "paged": "true"}
    found = [api.get("oci/google-ads-export", **query).json()]
    while cursor := found[-1]["nextCursor"]:
        found.append(api.get("oci/google-ads-export", **query, cursor=cursor).json())
    return found


@pytest.mark.parametrize("claim", ["true", "false"])
def test_pages_have_each_row_once_in_the_order_of_claims(api, site, rows, claim: str) -> None:
    found = pages(api, site, claim=claim)

    assert [[item["id"] for item in page["items"]] for page in found] == [
        [str(row) for row in rows[:2]],
        [str(row) for row in rows[2:4]],
        [str(rows[4])],
    ]
    assert Conversion.objects.filter(status="PROCESSING").count() == (5 if claim == "true" else 0)


def test_rows_that_are_claimed_meanwhile_do_not_shift_the_pages_of_a_preview(api, site, rows) -> None:
    query = {"siteId": site.public_id, "limit": 2, "paged": "true"}
    first = api.get("oci/google-ads-export", **query).json()
    api.claim(site, limit=3)

    second = api.get("oci/google-ads-export", **query, cursor=first["nextCursor"]).json()

    assert [item["id"] for item in second["items"]] == [str(row) for row in rows[3:]]


def test_a_last_page_that_is_full_has_no_cursor(api, site, rows) -> None:
    query = {"siteId": site.public_id, "limit": 5, "paged": "true"}

    assert api.get("oci/google-ads-export", **query).json()["nextCursor"] is None
    assert api.get("oci/google-ads-export", **query, markAsExported="true").json()["nextCursor"] is None


def test_rows_that_wait_for_their_time_are_not_promised(api, site, rows) -> None:
    Conversion.objects.filter(pk=rows[4].pk).claim(limit=1)
    Conversion.objects.filter(pk=rows[4].pk).mark_failed()

    found = pages(api, site, claim="true")

    assert [len(page["items"]) for page in found] == [2, 2]


@pytest.mark.parametrize("cursor", ["nonsense", "AAAAAAAAAAAAAAAAAAAAAA", "a b"])
def test_a_cursor_that_is_not_ours_is_refused(api, site, rows, cursor: str) -> None:
    answer = api.get("oci/google-ads-export", siteId=site.public_id, paged="true", cursor=cursor)

    assert answer.status_code == 400
    assert "This is not a valid cursor." in answer.text


def test_a_cursor_of_another_site_is_refused(api, site, rows, make_site, make_conversion) -> None:
    other = make_site(name="other")
    ids = [make_conversion(other) for _ in range(2)]

    answer = api.get("oci/google-ads-export", siteId=site.public_id, paged="true", cursor=encode_cursor(ids[0].pk))

    assert answer.status_code == 400
