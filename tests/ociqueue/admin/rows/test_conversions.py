"""Conversions in the console: what is seen, by whom, and how quickly."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.lists.paging import CappedPaginator
from kilit.lock.audit import acting_as
from ociqueue.models import Conversion
from tests.support.conversions import make_completed, make_failed, new_conversion

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"


def page_of(row: Conversion) -> str:
    return f"{LIST}{row.pk}/change/"


def listed(client: Client, **query: Any) -> list[Conversion]:
    answer = client.get(LIST, query)
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def test_the_list_shows_state_error_and_age_and_masks_the_click_id(make_person, site) -> None:
    error = {"code": "INVALID_CLICK_ID", "message": "<b>Google</b> could not decode it"}
    (row,) = make_failed(site, gclid="Cj0KCQ-secret-middle_x9Pq", **error)

    shown = make_person(sites={site: "viewer"}).get(LIST).content.decode()

    assert "Cj0K…x9Pq" in shown
    assert "secret" not in shown
    assert "&lt;b&gt;Google&lt;/b&gt; could not decode it" in shown
    for text in ("INVALID_CLICK_ID", "FAILED", "Mobilya", "Satış", "120.00 TRY", str(row)):
        assert text in shown.replace("<wbr>", "")


def test_a_short_click_id_is_masked_whole(make_person, site, make_conversion) -> None:
    make_conversion(site, gclid="tiny-123")

    assert "tiny" not in make_person(sites={site: "viewer"}).get(LIST).content.decode()


def test_the_page_shows_the_click_id_and_the_timeline(make_person, site) -> None:
    (row,) = make_failed(site, gclid="Cj0KCQ-x")
    with acting_as("operator:ayse", reason="the landing page is fixed"):
        Conversion.objects.filter(pk=row.pk).retry_selected()

    answer = make_person(sites={site: "viewer"}).get(page_of(row))

    shown = answer.content.decode()
    assert "gclid Cj0KCQ-x" in shown
    assert [step.state for step in answer.context["timeline"]] == ["Waiting", "Failed", "Being sent", "Waiting"]
    for text in (
        "Retried by ayse",
        "operator:ayse",
        "the landing page is fixed",
        "retry_selected",
        "FAILED →",
        "● Waiting",
    ):
        assert text in shown


def test_what_only_a_script_reported_is_unverified(viewer, site) -> None:
    reported, confirmed = make_completed(site), make_completed(site)
    Conversion.objects.filter(pk=confirmed.pk).update(uploaded_at=datetime.now(UTC))

    assert "unverified" in viewer.get(page_of(reported)).content.decode()
    assert "unverified" not in viewer.get(page_of(confirmed)).content.decode()


def test_a_replaced_row_and_its_copy_lead_to_each_other(viewer, site, make_conversion) -> None:
    original = make_completed(site)
    copy = make_conversion(site, replaces=original)

    assert f'href="{page_of(copy)}"' in viewer.get(page_of(original)).content.decode()
    assert f'href="{page_of(original)}"' in viewer.get(page_of(copy)).content.decode()


def test_nobody_adds_changes_or_deletes_a_row_by_hand(admin_client, site, make_conversion) -> None:
    row = make_conversion(site)

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(page_of(row), {"action": "Teklif", "status": "FAILED"}).status_code == 403
    assert admin_client.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    row.refresh_from_db()
    assert (row.action, row.status) == ("Satış", "QUEUED")


def test_each_filter_narrows(admin_client, make_site, make_conversion) -> None:
    site, other = make_site(), make_site()
    waiting, elsewhere = make_conversion(site), make_conversion(other)
    (invalid,) = make_failed(site)
    (passing,) = make_failed(site, code="UPLOAD_EXCEPTION", category="TRANSIENT")

    assert set(listed(admin_client, status="FAILED")) == {invalid, passing}
    assert set(listed(admin_client, site=str(site.pk))) == {waiting, invalid, passing}
    assert listed(admin_client, code=" UPLOAD_EXCEPTION ") == [passing]
    assert listed(admin_client, code="UPLOAD") == [], "a code is matched whole"
    assert listed(admin_client, category="VALIDATION") == [invalid]
    assert listed(admin_client, status="QUEUED", site=str(other.pk)) == [elsewhere]


def test_the_date_filter_goes_by_the_time_a_row_was_made(admin_client, site, make_conversion) -> None:
    new, old = make_conversion(site), make_conversion(site)
    Conversion.objects.filter(pk=old.pk).update(created_at=datetime.now(UTC) - timedelta(hours=30))

    assert listed(admin_client, since="24") == [new]
    assert set(listed(admin_client, since="168")) == {new, old}


def test_filters_that_are_not_offered_are_refused(admin_client, site, make_conversion) -> None:
    make_conversion(site, gclid="secret")

    assert admin_client.get(LIST, {"gclid__startswith": "s"}).status_code == 400
    assert admin_client.get(LIST, {"site__memberships__user__password__startswith": "m"}).status_code == 400


def test_search_finds_ids_and_beginnings_of_names(admin_client, site, make_conversion) -> None:
    row = make_conversion(site, gclid="Cj0KCQ-x", source_key="order 7/a")
    by_wbraid = make_conversion(site, wbraid="CkQKC-y")

    named = (f"SEAL_{row.pk}", f" Seal_{row.pk} ", str(row).upper(), f"seal_ {row.pk}", f"seal_{row.pk.hex}")
    for text in (
        str(row),
        str(row.pk),
        *named,
        row.order_id,
        "order 7/a",
        "Cj0KCQ-x",
        "  Cj0KCQ-x ",
        "Cj0KCQ",
        "ORDER 7",
    ):
        assert listed(admin_client, q=text) == [row], text
    assert listed(admin_client, q="CkQKC-y") == [by_wbraid]
    for text in ("0KCQ", "7/a", "Satış", "%", "seal_", "seal_Cj0KCQ-x", f"job {row.pk}", "x' OR 1=1 --"):
        assert listed(admin_client, q=text) == [], text


def test_counting_stops_where_nobody_pages(site) -> None:
    Conversion.objects.bulk_create([new_conversion(site) for _ in range(12)])

    class Short(CappedPaginator):
        most = 10

    rows = Conversion.objects.order_by("-id")
    everything, few = Short(rows, 3), Short(rows.none(), 3)
    with CaptureQueriesContext(connection) as asked:
        assert everything.count_text() == "more than 10 conversions; narrow the filter to see older ones"

    assert "LIMIT 11" in asked.captured_queries[0]["sql"]
    assert few.count_text() == "0 conversions"
