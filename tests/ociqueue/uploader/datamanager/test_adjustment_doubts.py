"""Adjustments whose answer or verdict is missing or bad: repeated only while they are the newest, and never wrong."""

import math
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Adjustment, Conversion
from ociqueue.operating.sweeps import requeue_transient
from ociqueue.uploader.datamanager.provider import as_conversions
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent, upload_due
from simulators.datamanager.server import cut_after, cut_before
from tests.support.adjustments import (
    adjustment_states,
    assert_books_are_ours,
    restate,
    retract,
    sent_values,
    take_back,
)
from tests.support.conversions import new_conversion
from tests.support.guarded_columns import write_unguarded
from tests.support.later_provider import make_due

pytestmark = pytest.mark.django_db

OVERTAKEN = ("FAILED", "OVERTAKEN")
DONE = ("COMPLETED", "")


@pytest.mark.parametrize("lost", [cut_before, cut_after])
def test_without_an_answer_the_same_bytes_go_again(data_manager, dm_site, sold, work, lost) -> None:
    restate(dm_site, sold, 80)
    data_manager.replies.append(lost)
    upload_due()
    assert list(Adjustment.objects.values_list("status", "outcome_unknown")) == [("RETRY", True)]
    work()

    _, first, second = data_manager.uploads
    assert first.body == second.body
    assert adjustment_states(sold) == [DONE]
    assert_books_are_ours(data_manager)


@pytest.mark.parametrize("ask", [lambda site, row: restate(site, row, 60), retract])
def test_one_in_doubt_is_not_repeated_after_a_newer_one(data_manager, dm_site, sold, work, ask) -> None:
    restate(dm_site, sold, 80)
    data_manager.replies.append(cut_after)
    upload_due()
    ask(dm_site, sold)
    work(2)

    assert adjustment_states(sold) == [OVERTAKEN, DONE]
    assert sent_values(data_manager, sold) == [120, 80, 0 if ask is retract else 60]
    assert_books_are_ours(data_manager)


def test_one_in_flight_finishes_before_a_newer_one_is_sent(data_manager, dm_site, sold, work) -> None:
    restate(dm_site, sold, 80)
    upload_due()
    restate(dm_site, sold, 60)
    upload_due()
    assert adjustment_states(sold) == [("UPLOADED", ""), ("QUEUED", "")]
    assert sent_values(data_manager, sold) == [120, 80]
    work(2)

    assert adjustment_states(sold) == [DONE, DONE]
    assert sent_values(data_manager, sold) == [120, 80, 60]
    assert_books_are_ours(data_manager)


def test_one_that_was_taken_back_after_a_newer_one_came_is_overtaken(data_manager, dm_site, sold, work) -> None:
    restate(dm_site, sold, 80)
    batch, rows = claim(dm_site, SiteTurn(Adjustment.objects.for_site(dm_site)))
    provider_for(dm_site, queue="adjustment").upload(mark_sent(batch, rows), dry_run=False)
    restate(dm_site, sold, 60)
    take_back()
    work(2)

    assert adjustment_states(sold) == [OVERTAKEN, DONE]
    assert sent_values(data_manager, sold) == [120, 80, 60]
    assert_books_are_ours(data_manager)


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_verdict_that_is_lost(data_manager, dm_site, sold, work, is_overtaken) -> None:
    data_manager.processing = math.inf
    restate(dm_site, sold, 80)
    work()
    if is_overtaken:
        restate(dm_site, sold, 60)
    make_due(hours=73)
    work()
    data_manager.processing = 0
    make_due()
    work(3)

    assert adjustment_states(sold) == ([OVERTAKEN, DONE] if is_overtaken else [DONE])
    assert sent_values(data_manager, sold) == ([120, 80, 60] if is_overtaken else [120, 80, 80])
    assert_books_are_ours(data_manager)


def test_one_that_a_verdict_defers_is_overtaken_by_a_newer_one(data_manager, dm_site, sold, work) -> None:
    data_manager.verdicts["click-1"] = ["TOO_RECENT_CLICK"]
    restate(dm_site, sold, 80)
    upload_due()
    restate(dm_site, sold, 60)
    data_manager.verdicts.clear()
    work(3)

    assert adjustment_states(sold) == [OVERTAKEN, DONE]
    assert sent_values(data_manager, sold) == [120, 80, 60]
    assert_books_are_ours(data_manager)


def test_a_conversion_that_google_does_not_find_is_looked_for_twice(data_manager, dm_site, sold, work) -> None:
    dm_site.requeue_transient = True
    dm_site.save(update_fields=["requeue_transient"])
    data_manager.verdicts["click-1"] = ["ORIGINAL_CONVERSIONS_NOT_FOUND"]
    restate(dm_site, sold, 80)
    work()
    row = Adjustment.objects.get()
    assert (row.status, row.provider_error_category) == ("RETRY", "TRANSIENT")
    assert row.next_retry_at > timezone.now() + timedelta(hours=23)
    work()

    row.refresh_from_db()
    assert (row.status, row.provider_error_category) == ("FAILED", "VALIDATION")
    assert "still does not find it" in english(row.last_error)
    assert requeue_transient() == "Requeued 0."
    assert_books_are_ours(data_manager)


def test_found_at_the_second_look_it_is_adjusted(data_manager, dm_site, sold, work) -> None:
    data_manager.verdicts["click-1"] = ["ORIGINAL_CONVERSIONS_NOT_FOUND"]
    restate(dm_site, sold, 80)
    work()
    data_manager.verdicts.clear()
    work()

    assert adjustment_states(sold) == [DONE]
    assert_books_are_ours(data_manager)


@pytest.mark.parametrize("is_in_doubt", [False, True])
def test_already_there_is_no_success(data_manager, dm_site, sold, work, is_in_doubt) -> None:
    """The conversion is there; that says nothing about its value."""
    data_manager.reports_duplicates = True
    if is_in_doubt:
        data_manager.replies.append(cut_before)
    restate(dm_site, sold, 80)
    work(2)

    row = Adjustment.objects.get()
    assert (row.status, row.provider_error_code) == ("FAILED", "DUPLICATE_TRANSACTION_ID")
    assert "does not take the new value" in english(row.last_error)
    assert_books_are_ours(data_manager)


def test_an_erased_conversion_fails_before_anything_is_sent(data_manager, dm_site, make_rows, work) -> None:
    erased, other = make_rows(dm_site, "click-1", "click-2")
    work()
    retract(dm_site, erased)
    restate(dm_site, other, 5)
    write_unguarded(Conversion.objects.filter(pk=erased.pk), gclid="", erased_at=Now())
    work()

    assert adjustment_states(erased) == [("FAILED", "ORIGINAL_ERASED")]
    assert (sent_values(data_manager, erased), sent_values(data_manager, other)) == ([120], [120, 5])
    assert not Event.objects.filter(event_type="SENT_AS_ZERO").exists()
    assert not Adjustment.objects.get(original=erased).outcome_unknown


def test_an_adjustment_carries_the_hashes_of_its_conversion(data_manager, dm_site, work) -> None:
    row = new_conversion(dm_site, gclid="", hashed_email="a" * 64, hashed_phone="b" * 64)
    row.save()
    work()
    restate(dm_site, row, 5)
    work()

    first, second = data_manager.uploads
    assert second.events == [{**first.events[0], "conversionValue": 5.0}]
    assert second.events[0]["userData"] == {
        "userIdentifiers": [{"emailAddress": "a" * 64}, {"phoneNumber": "b" * 64}],
    }


def test_conversions_are_loaded_in_one_query(dm_site, data_manager, make_rows, work, django_assert_num_queries) -> None:
    rows = make_rows(dm_site, count=5)
    work()
    for row in rows:
        restate(dm_site, row, 1)
    adjustments = list(Adjustment.objects.all())

    with django_assert_num_queries(1):
        assert len(list(as_conversions(adjustments))) == 5
