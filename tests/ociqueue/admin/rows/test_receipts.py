"""Uploads that Google took, with their requests and verdicts, in the console."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from ociqueue.models import Receipt, Site, UploadBatch
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult, Verdict, VerdictStatus
from ociqueue.uploader.settle import settle
from ociqueue.uploader.verdict_run import settle_verdict
from tests.support.uploads import LIST, html, received, row_page, sent

pytestmark = pytest.mark.django_db

CONFIRMED = RowResult(Disposition.ACCEPTED)
REJECTED = RowResult(Disposition.FATAL, "CLICK_NOT_FOUND", Category.VALIDATION, "Google does not know the click.")


@pytest.fixture
def site(make_site) -> Site:
    return make_site(name="Marmara", sync_method=SyncMethod.DATA_MANAGER)


def page_of(batch: UploadBatch) -> str:
    return f"{LIST}{batch.pk}/change/"


def test_an_upload_waits_for_its_verdict_until_all_have_come(viewer, site) -> None:
    _batch, rows = received(site, count=3)

    before = html(viewer, LIST)
    receipt = Receipt.objects.get()
    settle_verdict(receipt, rows, Verdict(VerdictStatus.SETTLED, [CONFIRMED, CONFIRMED, REJECTED], "PARTIAL_SUCCESS"))
    after = html(viewer, LIST)

    assert ">verdict pending<" in before
    assert "verdict pending: 3" in before
    assert "answered" not in before
    assert "Data Manager API" in before
    assert "verdict received" in after
    assert "2 / 1 / 0" in after
    assert "verdict pending" not in after.split("result_list")[1]


def test_an_uploads_page_lists_the_requests_that_google_took(viewer, site) -> None:
    batch, rows = received(site, count=3)
    Receipt.objects.update(checks=2, next_check_at=timezone.now() + timedelta(minutes=39, seconds=30))
    pending = html(viewer, page_of(batch))

    verdict = Verdict(
        VerdictStatus.SETTLED, [CONFIRMED, CONFIRMED, REJECTED], "PARTIAL_SUCCESS", note="As Google said."
    )
    settle_verdict(Receipt.objects.get(), rows, verdict)
    settled = html(viewer, page_of(batch))

    assert re.search(r"asked 2 times, next in 39\sminutes", pending)
    assert "PARTIAL_SUCCESS" in settled
    assert "2 / 1 / 0 / 0" in settled
    assert "As Google said." in settled


def test_the_rows_of_a_request_are_found_in_the_order_that_was_sent(viewer, site) -> None:
    batch, rows = sent(site, count=4)
    first, second = (RowResult(Disposition.RECEIVED, request_id=f"request-{number}") for number in (1, 2))
    settle(batch.pk, rows, [first, second, first, second])
    Receipt.objects.filter(request_id="request-2").update(row_ids=[rows[3].pk, rows[1].pk])
    receipt = Receipt.objects.get(request_id="request-2")

    everything = html(viewer, page_of(batch))
    shown = viewer.get(f"{page_of(batch)}?receipt={receipt.pk}")

    assert all(row_page(row) in everything for row in rows)
    assert f'href="?receipt={receipt.pk}#rows"' in everything
    first_row, second_row = shown.context["batch_rows"]
    assert (first_row["Place"], second_row["Place"]) == (0, 1)
    assert row_page(rows[3]) in first_row["Conversion"]
    assert row_page(rows[1]) in second_row["Conversion"]


def test_uploads_without_a_verdict_can_be_filtered(viewer, site) -> None:
    settled, rows = received(site)
    settle_verdict(Receipt.objects.get(), rows, Verdict(VerdictStatus.SETTLED, [CONFIRMED], "SUCCESS"))
    pending, _rows = received(site, request_id="request-2")

    found = viewer.get(LIST, {"answer": "verdict"}).context["cl"].result_list

    assert [batch.pk for batch in found] == [pending.pk]
    assert settled.pk != pending.pk


def test_a_request_that_was_lost_says_what_happens_to_its_rows(viewer, site) -> None:
    batch, rows = received(site, count=2)
    settle_verdict(Receipt.objects.get(), rows, Verdict(VerdictStatus.UNPROVEN))

    assert "they are sent again, one by one" in html(viewer, page_of(batch))


def test_a_question_that_cannot_be_asked_is_shown_on_the_rows_page(viewer, site) -> None:
    _batch, (row,) = received(site)
    Receipt.objects.update(note="The site has no credentials, so Google cannot be asked.")

    blockers = viewer.get(row_page(row)).context["blockers"]

    assert ("blocked", "The site has no credentials, so Google cannot be asked.") in [
        (blocker.kind, blocker.sentence) for blocker in blockers
    ]
