"""Failures that leave nothing to do: they are FAILED like others, but in no failure rate, and nothing is offered."""

from collections.abc import Callable
from typing import Any

import pytest

from kilit.batches.queues import Queue
from kilit.console.dashboard.charts import midnights
from kilit.lock.failures import EXPECTED_FAILURE
from kilit.lock.models import Count
from kilit.lock.sweeps import fold_counts, fold_errors
from ociqueue.codes.table import EXPECTED_FAILURES, WITHHELD
from ociqueue.intake.adjustments import adjust
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.models.sending import failure
from ociqueue.operating.site_health import SiteHealth, site_health
from ociqueue.states import WAITING, ConversionStatus
from tests.support.conversions import make_failed, new_conversion
from tests.support.dashboard import make_conversions, problems, text_of

pytestmark = pytest.mark.django_db

GROUPS = "/admin/ociqueue/conversion/groups/"


def reject(site: Site, number: int, *, code: str) -> None:
    """Let Google take rows, and reject them in its verdict."""
    rows = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
    chosen = Conversion.objects.filter(pk__any_of=[row.pk for row in rows])
    batch = UploadBatch.objects.create(site=site, size=number)
    chosen.claim(limit=number, batch=batch.pk, sender=site.sync_method)
    chosen.move_each("receive")
    chosen.move_each("reject", open_batch=None, **failure(code, "VALIDATION", "Google's verdict"))


def fail_as_declared(site: Site, number: int, *, code: str) -> None:
    if EXPECTED_FAILURES[code] == ConversionStatus.UPLOADED:
        reject(site, number, code=code)
    elif code == WITHHELD:
        Conversion.objects.bulk_create([new_conversion(site, consent_ad_user_data="DENIED") for _ in range(number)])
        Conversion.objects.sweep_withheld()
    elif EXPECTED_FAILURES[code] in WAITING:
        rows = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
        adjust(site, [{"id": str(row), "kind": "RETRACTION"} for row in rows])
    else:
        make_failed(site, number, code=code, category="PERMANENT")


def health(site: Site) -> SiteHealth:
    return site_health([site])[site.pk]


def test_a_clean_run_in_which_the_script_skips_rows_raises_no_alarm(api, site, admin_client) -> None:
    Conversion.objects.bulk_create([new_conversion(site) for _ in range(100)])
    ids = [item["id"] for item in api.claim(site)]

    api.post("oci/ack", {"siteId": site.public_id, "queueIds": ids[:72], "skippedIds": ids[72:]})

    assert Count.objects.by_state(queue="conversion") == {"COMPLETED": 72, "FAILED": 28}
    assert (health(site).error_rate, health(site).is_alarming) == (0, False)
    assert problems("failure-rate") == problems("failures") == []
    page = text_of(admin_client)
    assert "28 failed (28 expected, nothing to do)" in page
    assert "errors 28%" not in page
    assert "The site works" in text_of(admin_client, f"/admin/ociqueue/site/{site.pk}/change/")


@pytest.mark.parametrize("code", EXPECTED_FAILURES)
@pytest.mark.parametrize("sweeps", [(), (fold_counts, fold_errors)], ids=["pending", "folded"])
def test_an_expected_failure_is_in_no_rate(make_site, code: str, sweeps: tuple[Callable[[], str], ...]) -> None:
    site = make_site(sync_method="datamanager" if EXPECTED_FAILURES[code] == "UPLOADED" else "script")
    fail_as_declared(site, 90, code=code)
    for sweep in sweeps:
        sweep()

    ended: dict[str, Any] = {"queue": "conversion", "well": ["COMPLETED"], "badly": ["FAILED"]}
    today = Count.objects.last_day(**ended)
    week = Count.objects.last_days(midnights(7, today[-1].began_at), **ended)

    for periods in (today, week):
        assert sum(period.badly for period in periods) == sum(period.expected for period in periods) == 90
    assert health(site).error_rate is None
    assert problems("failure-rate") == problems("failures") == []
    assert Conversion.objects.filter(status="FAILED", provider_error_code=code).exclude(error_group="").count() == 90


def test_other_failures_beside_them_raise_the_alarm(site) -> None:
    make_failed(site, 60, code="SKIPPED_BY_SCRIPT")

    make_conversions(site, well=Queue.fewest_ended - 11, badly=11)

    assert (health(site).error_rate, health(site).is_alarming) == (0.22, True)
    (problem,) = problems("failure-rate")
    assert problem.cause == "11 of 50 jobs that ended"
    assert [each.count for each in problems("failures")] == [11]


def test_a_verdict_on_an_unknown_click_is_a_failure(make_site, admin_client) -> None:
    """The Google Ads API uses the same name for rows that fit no click, which can be ignored."""
    site = make_site(sync_method="datamanager")

    reject(site, 60, code="CLICK_NOT_FOUND")

    assert (health(site).error_rate, len(problems("failure-rate"))) == (1, 1)
    assert len(problems("failures")) == 1
    assert [row.entry.is_expected for row in admin_client.get(GROUPS).context["groups"]] == [False]


def test_a_retry_that_is_undone_is_no_failure_either(site) -> None:
    rows = make_failed(site, 3, code="SKIPPED_BY_SCRIPT")
    chosen = Conversion.objects.filter(pk__any_of=[row.pk for row in rows])
    chosen.retry_selected()

    chosen.move_each("undo_retry")

    assert health(site).recently_ended == {"FAILED": 6, EXPECTED_FAILURE: 6}


def test_a_group_of_them_says_so_and_offers_no_retry(site, admin_client) -> None:
    make_failed(site, 2, code="SKIPPED_BY_SCRIPT", category="PERMANENT")
    make_failed(site, 1, code="MAX_ATTEMPTS", category="PERMANENT")

    skipped, other = admin_client.get(GROUPS).context["groups"]

    assert (skipped.group.code, skipped.entry.is_expected, skipped.action) == ("SKIPPED_BY_SCRIPT", True, None)
    assert (other.entry.is_expected, other.action.label) == (False, "Review and retry")
    assert text_of(admin_client, GROUPS).count("Expected, nothing to do.") == 1
    row = Conversion.objects.filter(provider_error_code="SKIPPED_BY_SCRIPT")[0]
    page = text_of(admin_client, f"/admin/ociqueue/conversion/{row.pk}/change/")
    assert "The script left it out on purpose." in page
    assert "Fix the cause" not in page
