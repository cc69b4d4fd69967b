"""Uploads in the console: what was sent, what came back, and how quickly it is listed."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ociqueue.admin.rows import batches
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim
from tests.support.conversions import new_conversion
from tests.support.uploads import LIST, html, row_page, sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def api_site(make_site) -> Site:
    return make_site(sync_method=SyncMethod.API)


def old(batch: UploadBatch) -> None:
    UploadBatch.objects.filter(pk=batch.pk).update(sent_at=timezone.now() - timedelta(hours=1))


def listed(client: Client, **query: Any) -> list[UploadBatch]:
    answer = client.get(LIST, query)
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def test_uploads_are_listed_with_what_became_of_them(make_person, api_site) -> None:
    batch, rows = sent(api_site, count=3)
    settle(batch.pk, rows, [RowResult(Disposition.ACCEPTED, request_id="request-77")] * 3)
    lost, _ = sent(api_site)
    old(lost)
    sent(api_site)

    shown = html(make_person(sites={api_site: "viewer"}), LIST)

    assert "3 / 0 / 0" in shown
    assert "request-77" in shown
    assert shown.count("no answer: outcome unknown") == 1
    assert shown.count("waiting for the answer") == 1
    assert "3 upload batches" in shown


def test_a_call_that_failed_is_not_called_an_answer(make_person, api_site) -> None:
    batch, rows = sent(api_site)
    away = RowResult(Disposition.RETRY, code="UNAVAILABLE", category=Category.TRANSIENT, whole_request=True)
    settle(batch.pk, rows, [away])

    shown = html(make_person(sites={api_site: "viewer"}), LIST)

    assert "call failed" in shown
    assert "answered" not in shown


def test_an_uploads_page_leads_to_its_rows(make_person, api_site, monkeypatch) -> None:
    monkeypatch.setattr(batches, "MOST_ROWS", 2)
    batch, rows = sent(api_site, count=3)
    viewer = make_person(sites={api_site: "viewer"})

    shown = html(viewer, f"{LIST}{batch.pk}/change/")

    assert "The first 2 of 3 rows" in shown
    assert [row_page(row) in shown for row in rows] == [True, True, False]
    assert f"{LIST}{batch.pk}/change/" in html(viewer, row_page(rows[0]))


def test_an_upload_that_was_claimed_and_not_sent_shows_what_it_holds(admin_client, api_site) -> None:
    Conversion.objects.bulk_create([new_conversion(api_site)])
    pk, (row,) = claim(api_site, SiteTurn(Conversion.objects.all()))

    shown = html(admin_client, f"{LIST}{pk}/change/")

    assert "not sent" in shown
    assert row_page(row) in shown
    Conversion.objects.reset_to_queued()
    assert "holds no rows any more" in html(admin_client, f"{LIST}{pk}/change/")


def test_filters_and_search_narrow_the_uploads(admin_client, make_site, api_site) -> None:
    first, rows = sent(api_site)
    settle(first.pk, rows, [RowResult(Disposition.ACCEPTED)])
    second, _ = sent(make_site(sync_method=SyncMethod.API))

    assert listed(admin_client) == [second, first]
    assert listed(admin_client, answer="none") == [second]
    assert listed(admin_client, site=str(api_site.pk)) == [first]
    assert listed(admin_client, since="24") == [second, first]
    assert listed(admin_client, q=f" {first.pk} ") == [first]
    assert listed(admin_client, q="request") == []
    assert listed(admin_client, o="2") == [second, first]
    assert listed(admin_client, answer="?") == listed(admin_client, site="nonsense") == []
    assert admin_client.get(LIST, {"site__name__startswith": "M"}).status_code == 400


def test_nobody_changes_an_upload_by_hand(admin_client, api_site) -> None:
    batch, _ = sent(api_site)

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{LIST}{batch.pk}/change/", {"accepted": 1}).status_code == 403
    assert admin_client.post(f"{LIST}{batch.pk}/delete/", {"post": "yes"}).status_code == 403
    assert UploadBatch.objects.get().accepted == 0


def test_an_uploads_page_takes_few_queries_however_many_rows(admin_client, make_site) -> None:
    def queries(count: int) -> int:
        batch, _ = sent(make_site(sync_method=SyncMethod.API), count=count)
        with CaptureQueriesContext(connection) as captured:
            html(admin_client, f"{LIST}{batch.pk}/change/")
        return len(captured.captured_queries)

    queries(1)  # what Django remembers for the life of a process
    assert queries(2) == queries(40)


def test_the_uploads_of_a_site_are_a_tab_of_its_pages(make_person, api_site, make_site) -> None:
    client, other = make_person(sites={api_site: "viewer"}), make_site(name="other")
    href = f"{LIST}?site={api_site.pk}"

    assert f'href="{href}"' in html(client, f"/admin/ociqueue/site/{api_site.pk}/change/")
    shown = html(client, href)
    assert f'<a href="{href}" aria-current="page">Uploads</a>' in shown
    assert "Pages of this site" not in html(client, LIST)
    assert "Pages of this site" not in html(client, f"{LIST}?site={other.pk}")
