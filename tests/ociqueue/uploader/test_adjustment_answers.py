"""Adjustments in doubt, and what Google's errors mean for them: only the newest is repeated, with the same bytes."""

from datetime import timedelta

import pytest

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Adjustment
from ociqueue.uploader.upload_run import upload_due
from tests.support.adjustments import (
    adjustment_states,
    applied_but_late,
    assert_google_ads_has_ours,
    restate,
    restate_80,
    retract,
    sent_adjustments,
    take_back,
    upload_again,
)

pytestmark = pytest.mark.django_db(transaction=True)

FAMILY = "conversion_adjustment_upload_error"


def refuse_with(google, row, name: str) -> None:
    google.errors[row.order_id] = [{"family": FAMILY, "name": name}]


@pytest.mark.parametrize("adjusting", [retract, restate_80])
def test_without_an_answer_the_same_bytes_go_again(google, api_site, sold, adjusting) -> None:
    adjusting(api_site, sold)
    google.replies.append(applied_but_late)
    upload_due()
    assert Adjustment.objects.get().outcome_unknown

    upload_again()

    first, second = sent_adjustments(google)
    assert first == second
    assert adjustment_states(sold) == [("COMPLETED", "")]
    assert "the answer to an earlier upload was lost" in english(
        Event.objects.of(Adjustment.objects.get()).last().message
    )
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize("adjusting", [retract, lambda site, row: restate(site, row, 60)])
def test_an_unknown_outcome_is_not_repeated_after_a_newer_adjustment(google, api_site, sold, adjusting) -> None:
    restate(api_site, sold, 80)
    google.replies.append(applied_but_late)
    upload_due()
    adjusting(api_site, sold)

    upload_again()

    assert adjustment_states(sold) == [("FAILED", "OVERTAKEN"), ("COMPLETED", "")]
    assert len(sent_adjustments(google)) == 2
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize("is_applied", [True, False])
@pytest.mark.parametrize("adjusting", [retract, restate_80])
def test_what_a_dead_worker_sent_is_sent_again(google, sold, die_after_sending, adjusting, is_applied) -> None:
    adjusting(sold.site, sold)
    die_after_sending(is_applied=is_applied)
    take_back()
    row = Adjustment.objects.get()
    assert (row.status, row.outcome_unknown) == ("RETRY", True)

    upload_due()

    assert adjustment_states(sold) == [("COMPLETED", "")]
    assert len(set(sent_adjustments(google))) == 1
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize("is_applied", [True, False])
def test_what_a_dead_worker_sent_may_be_overtaken(google, api_site, sold, die_after_sending, is_applied) -> None:
    restate(api_site, sold, 80)
    die_after_sending(is_applied=is_applied)
    restate(api_site, sold, 60)
    upload_due()
    assert adjustment_states(sold) == [("PROCESSING", ""), ("QUEUED", "")], "one is in flight"
    take_back()

    upload_due()

    assert adjustment_states(sold) == [("FAILED", "OVERTAKEN"), ("COMPLETED", "")]
    assert len(sent_adjustments(google)) == 1 + is_applied
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize(("adjusting", "in_doubt"), [(retract, False), (restate_80, True)])
def test_only_a_retraction_in_doubt_is_done_if_google_has_one(google, api_site, sold, adjusting, in_doubt) -> None:
    refuse_with(google, sold, "CONVERSION_ALREADY_RETRACTED")
    adjusting(api_site, sold)
    Adjustment.objects.update(outcome_unknown=in_doubt)

    upload_due()

    assert adjustment_states(sold) == [("FAILED", "CONVERSION_ALREADY_RETRACTED")]


def test_an_unknown_conversion_is_looked_up_once_more(google, api_site, sold) -> None:
    refuse_with(google, sold, "CONVERSION_NOT_FOUND")
    retract(api_site, sold)

    upload_due()
    row = Adjustment.objects.get()
    assert (row.status, row.next_retry_at - row.updated_at >= timedelta(hours=24)) == ("RETRY", True)
    upload_again()

    row.refresh_from_db()
    assert (row.status, row.provider_error_category) == ("FAILED", "VALIDATION")
    assert len(google.calls) == 2


@pytest.mark.parametrize(("name", "hours"), [("TOO_RECENT_CONVERSION", 24), ("TOO_RECENT_CONVERSION_ACTION", 6)])
def test_what_is_too_recent_waits(google, api_site, sold, name, hours) -> None:
    refuse_with(google, sold, name)
    retract(api_site, sold)

    upload_due()

    row = Adjustment.objects.get()
    assert timedelta(hours=hours) <= row.next_retry_at - row.updated_at <= timedelta(hours=hours * 1.2)
