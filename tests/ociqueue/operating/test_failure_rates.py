"""The error rate counts a row once, by how it is now."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from kilit.batches.queues import Queue
from kilit.console.dashboard.charts import midnights
from kilit.lock.models import Count
from kilit.lock.models.counts import CountDelta, HourCount
from kilit.lock.sweeps import fold_counts, fold_errors
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion, Site
from ociqueue.models.sending import RELEASED, failure
from ociqueue.operating.site_health import site_health
from tests.support.conversions import make_failed
from tests.support.dashboard import make_conversions, problems
from tests.support.uploads import received, sent

pytestmark = pytest.mark.django_db
FOLDS = pytest.mark.parametrize("sweeps", [(), (fold_counts, fold_errors)], ids=["pending", "folded"])
ENDED: dict[str, Any] = {"queue": "conversion", "well": ["COMPLETED"], "badly": ["FAILED"]}


def ended(site: Site) -> set[tuple[int, int]]:
    """Return how many rows ended well and badly, as each place that shows a rate reads it."""
    today = Count.objects.last_day(**ENDED, scopes=[str(site.pk)])
    week = Count.objects.last_days(midnights(7, today[-1].began_at), **ENDED)
    counts = site_health([site])[site.pk].recently_ended
    sums = [(sum(each.well for each in periods), sum(each.badly for each in periods)) for periods in (today, week)]
    return {*sums, (counts["COMPLETED"], counts["FAILED"] - counts["REOPENED_FAILURE"])}


def fail_again(rows: Any, times: int) -> None:
    for _ in range(times):
        rows.retry_selected()
        rows.claim(limit=100)
        rows.ack_failed(code="INVALID_VALUE", category="VALIDATION", message="bad")


@FOLDS
def test_a_row_that_fails_again_and_again_counts_once(site, sweeps: tuple[Callable[[], str], ...]) -> None:
    make_failed(site, 2)
    fail_again(Conversion.objects.all(), times=3)
    for sweep in sweeps:
        sweep()

    assert ended(site) == {(0, 2)}


@FOLDS
def test_a_row_that_failed_and_completes_did_not_fail(site, sweeps: tuple[Callable[[], str], ...]) -> None:
    make_failed(site, 2)
    rows = Conversion.objects.all()
    fail_again(rows, times=1)
    rows.retry_selected()
    assert ended(site) == {(0, 0)}, "what waits has not ended"
    rows.claim(limit=2)
    rows.move("ack")
    for sweep in sweeps:
        sweep()

    assert ended(site) == {(2, 0)}


def test_a_corrected_row_is_counted_by_its_copy(site) -> None:
    (row,) = make_failed(site)

    (result,) = replace_rows(site, [Correction(str(row), {"gclid": "Cj0KCQ-right"})])
    copies = Conversion.objects.filter(pk=result.copy and result.copy.pk)
    copies.claim(limit=1)
    copies.move("ack")

    assert ended(site) == {(1, 0)}


def test_a_failure_of_an_earlier_day_that_is_retried_hides_no_failure_of_today(site) -> None:
    make_failed(site, 60)
    long_ago = F("updated_at") - timedelta(days=3)
    Conversion.objects.update(updated_at=long_ago)
    CountDelta.objects.update(created_at=F("created_at") - timedelta(days=3))
    old = list(Conversion.objects.values_list("pk", flat=True))
    make_conversions(site, well=40, badly=60)

    Conversion.objects.filter(pk__in=old).retry_selected()

    assert site_health([site])[site.pk].error_rate == 0.6
    (problem,) = problems("failure-rate")
    assert problem.cause == "60 of 100 jobs that ended"


def test_an_expected_failure_that_is_retried_takes_no_other_out_of_the_rate(site) -> None:
    make_failed(site, 3, code="SKIPPED_BY_SCRIPT")
    make_conversions(site, well=1, badly=1)

    Conversion.objects.filter(provider_error_code="SKIPPED_BY_SCRIPT").retry_selected()

    assert site_health([site])[site.pk].error_rate == 0.5


@pytest.mark.parametrize("is_verdict", [True, False])
def test_what_was_expected_is_known_by_the_move_and_not_by_the_code_alone(site, is_verdict) -> None:
    error = failure("CLICK_NOT_FOUND", "PERMANENT", "bad")
    if is_verdict:  # a rate has it, as Google took the row first
        received(site)
        Conversion.objects.move("reject", **error, **RELEASED)
    else:
        sent(site)
        Conversion.objects.move("ack_failed", **error, **RELEASED)
    expected = site_health([site])[site.pk].recently_ended["EXPECTED_FAILURE"]

    Conversion.objects.retry_selected()

    assert expected == int(not is_verdict)
    assert site_health([site])[site.pk].recently_ended["REOPENED_FAILURE"] == int(is_verdict)


def test_many_retries_of_many_rows_raise_no_alarm_when_all_complete(site) -> None:
    make_failed(site, Queue.fewest_ended)
    rows = Conversion.objects.all()
    fail_again(rows, times=2)
    rows.retry_selected()
    rows.claim(limit=100)
    rows.move("ack")

    assert site_health([site])[site.pk].error_rate == 0
    assert problems("failure-rate") == []


def test_the_rate_is_read_from_as_few_counts_however_many_rows_there_are(site) -> None:
    make_failed(site, 50)
    fail_again(Conversion.objects.all(), times=2)

    fold_counts()

    assert HourCount.objects.filter(queue="conversion", state="REOPENED_FAILURE").count() <= 2
