"""Adjustments through the Data Manager API: what is sent, what becomes of it, and a server whose books must be ours."""

import json
import math
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Adjustment, Conversion, Credentials, UploadBatch
from ociqueue.reconcile.run import OurDays
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent, upload_due
from tests.support.adjustments import (
    adjustment_states,
    assert_books_are_ours,
    restate,
    retract,
    sent_values,
    take_back,
)
from tests.support.uploads import account, row_page

pytestmark = pytest.mark.django_db


def test_a_restatement_is_the_same_event_with_another_value(data_manager, dm_site, sold, work) -> None:
    restate(dm_site, sold, "80.5")
    work()

    first, second = data_manager.uploads
    assert json.loads(second.body)["destinations"] == json.loads(first.body)["destinations"]
    assert second.events == [{**first.events[0], "conversionValue": 80.5}]
    assert adjustment_states(sold) == [("COMPLETED", "")]
    assert data_manager.values_of(sold.order_id) == [(80.5, "TRY")]
    assert UploadBatch.objects.get(pk__gt=UploadBatch.objects.earliest("pk").pk).queue == "adjustment"


def test_restate_again_and_retract(data_manager, dm_site, sold, work) -> None:
    for value in (80, 60):
        restate(dm_site, sold, value)
        restate(dm_site, sold, value)
        work()
        assert data_manager.values_of(sold.order_id) == [(value, "TRY")]
        assert_books_are_ours(data_manager)
    retract(dm_site, sold)
    retract(dm_site, sold)
    work(2)

    assert adjustment_states(sold) == [("COMPLETED", "")] * 3
    assert sent_values(data_manager, sold) == [120, 80, 60, 0]
    assert_books_are_ours(data_manager)


def test_adjustments_are_not_counted_as_conversions(dm_site, sold, work) -> None:
    """Google's summaries of conversions do not have them either."""
    restate(dm_site, sold, 80)
    work()

    days = OurDays(dm_site, zone=ZoneInfo("Europe/Istanbul"), read_at=timezone.now())
    assert sum(count.unknown for count in days.uploads(str, mapped_since=None)) == 1


def test_a_new_currency_is_sent(data_manager, dm_site, sold, work) -> None:
    restate(dm_site, sold, 20, currency="EUR")
    work()

    assert data_manager.values_of(sold.order_id) == [(20, "EUR")]


def test_a_retraction_is_sent_as_zero_and_says_so(data_manager, dm_site, sold, work, admin_client) -> None:
    retract(dm_site, sold)
    work()

    (row,) = Adjustment.objects.all()
    assert row.status == "COMPLETED"
    assert data_manager.values_of(sold.order_id) == [(0, "TRY")]
    event = Event.objects.of(row).get(event_type="SENT_AS_ZERO")
    assert "no retraction" in english(event.message)
    assert "still counts" in english(event.message)
    page = admin_client.get(f"/admin/ociqueue/adjustment/{row.pk}/change/").text
    assert "as the value 0, not as a retraction" in page
    assert "The Data Manager API has no retraction" in page
    assert "Google still counts the conversion" in admin_client.get(row_page(sold)).text


def test_a_restatement_is_not_noted_as_zero(dm_site, sold, work) -> None:
    restate(dm_site, sold, 0)
    work()

    assert not Event.objects.filter(event_type="SENT_AS_ZERO").exists()


def test_with_a_developer_token_a_retraction_is_not_sent_here(data_manager, dm_site, sold, at_once, work) -> None:
    Credentials.objects.store(dm_site, account(developer_token="token"))
    restate(dm_site, sold, 80)
    work()
    retract(dm_site, sold)
    work()

    assert adjustment_states(sold) == [("COMPLETED", ""), ("COMPLETED", "")]
    assert sent_values(data_manager, sold) == [120, 80]
    assert [sender for sender, _ in at_once.log] == ["api"]
    assert not Event.objects.filter(event_type="SENT_AS_ZERO").exists()


def test_a_retraction_before_the_claim_sends_nothing(data_manager, dm_site, make_rows, work) -> None:
    (row,) = make_rows(dm_site, "click-1")

    assert retract(dm_site, row)["state"] == "COMPLETED"
    assert retract(dm_site, row)["status"] == "duplicate"
    work(2)

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == ("FAILED", "RETRACTED_BEFORE_UPLOAD")
    assert not data_manager.uploads
    assert_books_are_ours(data_manager)
    timeline = Event.objects.of(row).filter(event_type__startswith="ADJUSTMENT_").values_list("event_type", flat=True)
    assert list(timeline.order_by("pk")) == ["ADJUSTMENT_ADDED", "ADJUSTMENT_COMPLETED"]


def test_a_restatement_before_the_claim_follows_the_conversion(data_manager, dm_site, make_rows, work) -> None:
    (row,) = make_rows(dm_site, "click-1")
    restate(dm_site, row, 80)
    upload_due()
    upload_due()
    assert (adjustment_states(row), sent_values(data_manager, row)) == ([("QUEUED", "")], [120])
    work(2)

    assert sent_values(data_manager, row) == [120, 80]
    assert_books_are_ours(data_manager)


def test_while_the_conversion_is_uploaded_adjustments_wait_for_its_verdict(
    data_manager, dm_site, make_rows, work, let_time_pass
) -> None:
    (row,) = make_rows(dm_site, "click-1")
    data_manager.processing = math.inf
    work(2)
    restate(dm_site, row, 80)
    retract(dm_site, row)
    retract(dm_site, row)
    work()

    row.refresh_from_db()
    assert row.status == "UPLOADED"
    assert adjustment_states(row) == [("FAILED", "OVERTAKEN"), ("QUEUED", "")]
    assert sent_values(data_manager, row) == [120]

    data_manager.processing = 0
    let_time_pass(timedelta(hours=1))
    work(3)
    assert adjustment_states(row)[-1] == ("COMPLETED", "")
    assert sent_values(data_manager, row) == [120, 0]
    assert_books_are_ours(data_manager)


@pytest.fixture
def processing(data_manager, dm_site, make_rows):
    """A conversion that is claimed and not sent yet, and a function that sends it."""
    (row,) = make_rows(dm_site, "click-1")
    batch, rows = claim(dm_site, SiteTurn(Conversion.objects.for_site(dm_site)))

    def send(*, is_answered: bool = True) -> None:
        held = mark_sent(batch, rows)
        results = provider_for(dm_site).upload(held, dry_run=False)
        if is_answered:
            settle(batch, held, results)

    return row, send


@pytest.mark.parametrize("is_answered", [True, False])
def test_while_the_conversion_is_processing_a_retraction_waits_and_one_in_doubt_is_sent_again_first(
    data_manager, dm_site, processing, work, is_answered
) -> None:
    row, send = processing
    assert retract(dm_site, row)["state"] == "QUEUED"
    assert retract(dm_site, row)["status"] == "duplicate"
    send(is_answered=is_answered)
    take_back()
    work(3)

    assert sent_values(data_manager, row) == ([120, 0] if is_answered else [120, 120, 0])
    assert adjustment_states(row) == [("COMPLETED", "")]
    assert_books_are_ours(data_manager)


def test_a_conversion_that_is_taken_back_unsent_ends_with_its_retraction(
    data_manager, dm_site, processing, work
) -> None:
    row, _ = processing
    retract(dm_site, row)
    take_back()
    work(2)

    row.refresh_from_db()
    assert (row.provider_error_code, adjustment_states(row)) == ("RETRACTED_BEFORE_UPLOAD", [("COMPLETED", "")])
    assert not data_manager.uploads


@pytest.mark.parametrize("ask", [retract, lambda site, row: restate(site, row, 5)])
def test_after_a_rejection_there_is_nothing_to_adjust(data_manager, dm_site, make_rows, work, ask) -> None:
    (row,) = make_rows(dm_site, "FAIL-CLICK_NOT_FOUND-1")
    work()
    row.refresh_from_db()
    assert row.status == "FAILED"

    assert ask(dm_site, row)["state"] == "FAILED"
    ask(dm_site, row)
    work(2)

    assert {code for _, code in adjustment_states(row)} == {"ORIGINAL_NOT_UPLOADED"}
    assert len(data_manager.uploads) == 1
    assert_books_are_ours(data_manager)
