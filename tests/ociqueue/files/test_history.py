"""The history of conversions as a file: by time span, streamed, masked, of the caller's sites."""

import csv
import json
import re
import tracemalloc
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ociqueue.files import exports as history_files
from ociqueue.files.exports import HISTORY, read_records
from ociqueue.models import Conversion
from tests.support.api import Api
from tests.support.conversions import make_failed, new_conversion
from tests.support.redelivered import fail, send

pytestmark = pytest.mark.django_db

PAGE = "/admin/ociqueue/conversion/history-file/"
DAY = timedelta(days=1)


def span(**changes: Any) -> dict[str, Any]:
    now = timezone.now()
    return {"from": (now - DAY).isoformat(), "to": (now + DAY).isoformat(), **changes}


def text_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    assert answer.streaming
    assert "no-store" in answer.headers["Cache-Control"]
    return b"".join(answer.streaming_content).decode()


def table(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff")
    return list(csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline="")))


def exported(api: Api, **query: Any) -> list[dict[str, str]]:
    return table(text_of(api.get("oci/conversions/export", **span(**query))))


def downloaded(client: Client, **form: Any) -> list[dict[str, str]]:
    today = f"{timezone.localdate()}"
    return table(text_of(client.post(PAGE, {"first": today, "last": today, "format": "csv", **form})))


def test_both_formats_have_a_line_for_each_conversion_with_masked_click_ids(api, site) -> None:
    first = send(site)["id"]
    fail(message="Cj0KCQ-first of +905551234567")
    second = send(site, gclid="Cj0KCQ-second-one")["id"]

    as_csv = exported(api)
    answer = api.get("oci/conversions/export", **span(format="jsonl"))
    as_json = [json.loads(line) for line in text_of(answer).splitlines()]

    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert re.fullmatch(r'attachment; filename="conversions-[\d-]{10}\.jsonl"', answer.headers["Content-Disposition"])
    assert tuple(as_csv[0]) == tuple(as_json[0]) == HISTORY
    for lines in (as_csv, as_json):
        assert [line["id"] for line in lines] == [first, second], "the oldest first"
        assert [line["state"] for line in lines] == ["FAILED", "QUEUED"]
        assert [line["sourceKey"] for line in lines] == ["order-1001"] * 2
        assert [line["gclid"] for line in lines] == ["Cj0K…irst", "Cj0K…-one"]
        assert lines[0]["errorMessage"] == "… of …4567"
        assert (lines[0]["replacedBy"], lines[1]["replaces"]) == (second, first)
    assert (as_csv[1]["conversionValue"], as_json[1]["conversionValue"]) == ("120.50", 120.5)
    assert (as_csv[1]["outcomeUnknown"], as_json[1]["outcomeUnknown"]) == ("false", False)
    assert (as_csv[1]["endedAt"], as_json[1]["endedAt"]) == ("", None)


def test_no_cell_of_the_history_is_taken_for_a_formula(api, site) -> None:
    make_failed(site, message="=HYPERLINK()", action="=cmd|x")

    (line,) = exported(api)

    assert (line["errorMessage"], line["conversionName"]) == ("'=HYPERLINK()", "'=cmd|x")


def test_only_rows_of_the_span_and_of_the_site_are_exported(api, make_site, site) -> None:
    make_failed(make_site())
    (row,) = make_failed(site)

    assert [line["id"] for line in exported(api)] == [str(row)]
    assert exported(api, to=row.created_at.isoformat()) == [], "the end is not in it"
    assert len(exported(api, **{"from": row.created_at.isoformat()})) == 1


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "", "`from` must be before `to`."),
        ({"from": "2026-01-01T00:00:00Z", "to": "2026-04-04T00:00:00Z"}, "", "At most 92 days at once."),
        ({"from": "2026-01-01"}, "from", "Expected a time with an offset, as in 2026-11-16T09:30:00Z."),
        ({"to": ""}, "to", "Expected a time with an offset, as in 2026-11-16T09:30:00Z."),
        ({"format": "xml"}, "format", "Expected one of csv, jsonl."),
        ({"until": "x"}, "until", "Unknown field. Known fields: siteId, from, to, format."),
    ],
)
def test_what_is_wrong_with_a_span_is_said(api, changes: dict[str, str], field: str, message: str) -> None:
    answer = api.get("oci/conversions/export", **span(**changes))

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == [{"field": field, "message": message}]


def test_members_download_the_history_of_their_sites(make_person, make_site) -> None:
    mine, also_mine, theirs = make_site(name="B"), make_site(name="A"), make_site()
    rows = [make_failed(site)[0] for site in (mine, also_mine, theirs)]
    viewer = make_person(role="viewer", sites={mine: "viewer", also_mine: "operator"})

    assert [line["id"] for line in downloaded(viewer)] == [str(rows[1]), str(rows[0])]
    assert [line["id"] for line in downloaded(viewer, site=str(mine.pk))] == [str(rows[0])]
    assert viewer.post(PAGE, {"site": str(theirs.pk)}).status_code == 404
    assert viewer.get(PAGE, {"site": "x"}).status_code == 404
    assert downloaded(make_person("fatma")) == []
    assert Client().get(PAGE).status_code == 302


def test_the_list_offers_the_history_of_the_site_it_shows(viewer, site) -> None:
    listed = viewer.get("/admin/ociqueue/conversion/", {"site": str(site.pk)}).text
    page = viewer.get(PAGE, {"site": str(site.pk)})

    assert f'href="{PAGE}?site={site.pk}"' in listed
    assert f"Of the site {site.name}." in page.text
    assert page.context["kept"] == {"site": str(site.pk)}


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"first": "2026-01-01", "last": "2026-04-03"}, "Export at most 92 days at once."),
        ({"first": "2026-01-02", "last": "2026-01-01"}, "The end has to be after the beginning."),
        ({"first": "yesterday", "last": "2026-01-01"}, "Enter a valid date."),
        ({"first": "2026-01-01", "last": "2026-01-01", "format": "xml"}, "xml is not one of the available choices"),
    ],
)
def test_the_page_says_what_is_wrong_with_the_days(make_person, site, form: dict[str, str], error: str) -> None:
    page = make_person(sites={site: "viewer"}).post(PAGE, {"format": "csv", **form})

    assert error in str(page.context["form"].errors)


def test_rows_are_read_in_batches_that_need_little_memory(site, monkeypatch) -> None:
    """Twice as many rows take twice as many queries, and no more memory."""
    monkeypatch.setattr(history_files, "CHUNK", 50)
    start, end = timezone.now() - DAY, timezone.now() + DAY

    def read(number: int) -> tuple[int, int]:
        Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
        stored = Conversion.objects.count()
        with CaptureQueriesContext(connection) as asked:
            tracemalloc.start()
            assert sum(1 for _ in read_records([site], start=start, end=end)) == stored
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return len(asked), most

    read(10)  # what is loaded once
    (queries, few), (more_queries, many) = read(190), read(200)

    assert (queries, more_queries) == (5, 9)
    assert many < 1.5 * few


def test_a_batch_is_found_by_the_time_in_the_ids(site) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with CaptureQueriesContext(connection) as asked:
        list(read_records([site], start=start, end=start + DAY))

    (query,) = asked
    assert re.search(r'"id" >= .*"id" < ', query["sql"])
