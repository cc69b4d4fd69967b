"""Failed rows as a CSV file: streamed, formula-safe, of the user's sites."""

import csv
import re
import tracemalloc
from datetime import timedelta
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kilit.console import queue_admin
from kilit.csv.writer import escape_formula
from ociqueue.files.exports import FIELDS
from ociqueue.models import Conversion
from tests.support.conversions import make_failed, new_conversion

pytestmark = pytest.mark.django_db

CONSOLE = admin.site.get_model_admin(Conversion)
ADDRESS = "/admin/ociqueue/conversion/dead-letters/"


def downloaded(client: Client, **query: Any) -> list[dict[str, str]]:
    answer = client.get(ADDRESS, query)
    assert answer.status_code == 200
    assert answer.streaming
    text = b"".join(answer.streaming_content).decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline="")))


def test_a_failed_row_is_reported_whole(make_person, site) -> None:
    (row,) = make_failed(site, gclid="Cj0KCQ-x", source_key="order-1", message='two\nlines, and a "quote"')
    new_conversion(site).save()

    (reported,) = downloaded(make_person(sites={site: "operator"}))

    assert tuple(reported) == tuple(FIELDS)
    assert reported["id"] == str(row)
    assert (reported["siteId"], reported["gclid"], reported["sourceKey"]) == (site.public_id, "Cj0KCQ-x", "order-1")
    assert (reported["conversionValue"], reported["conversionCurrency"]) == ("120.00", "TRY")
    assert (reported["errorCode"], reported["errorCategory"], reported["attemptCount"]) == (
        "INVALID_VALUE",
        "VALIDATION",
        "1",
    )
    assert reported["errorMessage"] == 'two lines, and a "quote"', "a file that is imported again has one line a row"


def test_times_are_in_the_readers_zone_and_state_it(make_person, site) -> None:
    time = timezone.now() - timedelta(hours=5)
    make_failed(site, conversion_time=time)
    reader = make_person(sites={site: "viewer"})
    reader.cookies["kilit_zone"] = "Asia/Tokyo"

    (reported,) = downloaded(reader)

    assert reported["conversionTime"] == time.astimezone(ZoneInfo("Asia/Tokyo")).isoformat(timespec="seconds")
    for name in ("conversionTime", "createdAt", "failedAt"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00", reported[name]), name


def test_consent_is_reported_as_the_api_takes_it(make_person, site) -> None:
    make_failed(site, consent_ad_user_data="GRANTED")

    (reported,) = downloaded(make_person(sites={site: "viewer"}))

    assert (reported["consentAdUserData"], reported["consentAdPersonalization"]) == ("GRANTED", "")


@pytest.mark.parametrize(("currency", "value"), [("TRY", "120.00"), ("JPY", "120"), ("KWD", "120.000")])
def test_a_value_has_the_digits_of_its_currency(make_person, site, currency: str, value: str) -> None:
    """Where a dot parts thousands, 120.000 lira would be read as many more."""
    make_failed(site, currency=currency)

    (reported,) = downloaded(make_person(sites={site: "viewer"}))

    assert reported["conversionValue"] == value


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "＝", "＠"])
def test_no_cell_is_taken_for_a_formula(make_person, site, start: str) -> None:
    make_failed(site, message=f"{start}HYPERLINK()", action="=cmd|x")

    (reported,) = downloaded(make_person(sites={site: "viewer"}))

    assert reported["errorMessage"] == f"'{start}HYPERLINK()"
    assert reported["conversionName"] == "'=cmd|x"
    assert escape_formula(5) == "5"


def test_the_lists_filters_narrow_the_file_too(admin_client, make_site) -> None:
    site, other = make_site(), make_site()
    (one,), (two,) = make_failed(site), make_failed(site, code="INVALID_CURRENCY")
    make_failed(other)

    def ids(**query: Any) -> set[str]:
        return {reported["id"] for reported in downloaded(admin_client, **query)}

    assert ids(site=str(site.pk)) == {str(one), str(two)}
    assert ids(site=str(site.pk), code="INVALID_VALUE") == {str(one)}
    assert ids(q=str(two)) == {str(two)}
    assert len(ids(status="FAILED", p="99")) == 3, "the file has no pages"
    assert admin_client.get(ADDRESS, {"gclid__startswith": "s"}).status_code == 400


def test_a_list_of_another_state_has_no_dead_letters(make_person, site) -> None:
    """The same filter as the screen: a file of rows that the screen does not show would be taken for those it does."""
    make_failed(site)

    answer = make_person(sites={site: "viewer"}).get(ADDRESS, {"status": "QUEUED"}, follow=True)

    assert answer.redirect_chain == [("/admin/ociqueue/conversion/?status=QUEUED", 302)]
    reported = [str(message) for message in answer.context["messages"]]
    assert reported == ["The export has rows in these states: Failed. The list shows another: Waiting."]


def test_the_list_offers_the_file_with_its_own_filters(viewer, site) -> None:
    answer = viewer.get("/admin/ociqueue/conversion/", {"site": str(site.pk)})

    assert f'href="{ADDRESS}?site={site.pk}"' in answer.content.decode()


def test_no_row_costs_a_question_of_its_own(viewer, site) -> None:
    def questions(number: int) -> int:
        make_failed(site, number)
        with CaptureQueriesContext(connection) as asked:
            downloaded(viewer)
        return len(asked)

    assert questions(1) == questions(10)


@pytest.mark.slow  # every allocation of hundreds of rows is traced
def test_memory_stays_the_same_for_any_number_of_rows(site, rf, admin_user, monkeypatch) -> None:
    monkeypatch.setattr(queue_admin, "CHUNK", 100)  # so that hundreds are many
    request = rf.get("/", {"status": "FAILED"})
    request.user = admin_user

    def most_memory(number: int) -> int:
        make_failed(site, number, message="x" * 900)
        tracemalloc.start()
        lines = sum(part.count(b"\n") for part in queue_admin.export_failed(CONSOLE, request))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert lines == 1 + Conversion.objects.count()
        return most

    few = most_memory(150)
    many = most_memory(600)

    assert many < 1.5 * few
    with CaptureQueriesContext(connection) as asked:
        next(iter(queue_admin.export_failed(CONSOLE, request)))
    of_rows = [query["sql"] for query in asked if Conversion._meta.db_table in query["sql"]]
    assert all("LIMIT" in sql for sql in of_rows), "the head comes before the rows are asked for"


def test_click_ids_are_masked_for_viewers(make_person, site) -> None:
    make_failed(site, gclid="Cj0KCQ-abcdef-x1y2", message="Call +905551234567.")

    (reported,) = downloaded(make_person(sites={site: "viewer"}))

    assert (reported["gclid"], reported["gbraid"]) == ("Cj0K…x1y2", "")
    assert reported["errorMessage"] == "Call …4567."
