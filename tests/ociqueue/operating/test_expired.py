"""Conversions that wait until Google would not take them any more: they end, and the reason is shown to operators."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kilit.lock.models import Event
from kilit.sentences import english
from kilit.workers.sweeps import run as run_sweep
from ociqueue.models import Conversion, Site
from ociqueue.operating.site_health import site_health
from ociqueue.uploader.upload_run import due_sites
from tests.support.commands import output_of
from tests.support.conversions import ending
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db

EXPIRED = ("FAILED", "EXPIRED_BEFORE_UPLOAD", "PERMANENT")


def ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def make_old(make_conversion: Any, site: Site, *, days: float = 91, waited: float = 0, **columns: Any) -> Conversion:
    """Make a row whose conversion was so many days ago, and that came so many days ago."""
    row = make_conversion(site, conversion_time=ago(days), **columns)
    Conversion.objects.filter(pk=row.pk).update(created_at=ago(waited))
    return row


def test_what_is_over_90_days_old_is_not_exported(api, site, make_conversion) -> None:
    make_old(make_conversion, site, days=90.01)
    just = make_old(make_conversion, site, days=89.99)

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()
    exported = api.claim(site)

    assert [item["id"] for item in preview["items"]] == [item["id"] for item in exported] == [str(just)]
    assert preview["counts"] == {"queued": 1, "skipped": 1}
    assert preview["warnings"] == ["1 rows are more than 90 days old; the next sweep fails them."]


@pytest.mark.parametrize("sender", ["api", "datamanager"])
def test_what_is_over_90_days_old_is_not_uploaded(make_site, make_conversion, sender: str) -> None:
    site = make_site(sync_method=sender)
    make_old(make_conversion, site)

    assert Conversion.objects.for_site(site).claim(limit=10, sender=sender) == []
    assert not due_sites().exists()


@pytest.mark.parametrize(("days", "waited"), [(91, 90.5), (91, 85), (91, 0), (100, 13), (95, 88)], ids=str)
def test_the_sweep_ends_it_however_long_it_took_to_come(site, make_conversion, days: float, waited: float) -> None:
    row = make_old(make_conversion, site, days=days, waited=waited)

    assert run_sweep("oci_end_unsendable") == "Withheld 0, expired 1, retracted 0."

    assert ending(row) == EXPIRED
    last = Event.objects.of(row).last()
    assert (last.details["verb"], last.actor) == ("expire", "sweep:oci_end_unsendable")
    assert "why it waited" in english(row.last_error)


def test_the_sweep_leaves_the_others_alone(site, make_conversion) -> None:
    late = make_old(make_conversion, site, days=89.9)
    waited = make_old(make_conversion, site, days=89.9, waited=89)
    held = make_old(make_conversion, site, days=89.9)
    Conversion.objects.filter(pk=held.pk).claim(limit=1)
    Conversion.objects.filter(pk=held.pk).update(conversion_time=ago(91))

    assert Conversion.objects.expire() == 0

    assert [ending(row)[0] for row in (late, waited, held)] == ["QUEUED", "QUEUED", "PROCESSING"]


def test_a_claim_of_a_row_that_expires_meanwhile_can_still_be_settled(site, make_conversion) -> None:
    row = make_old(make_conversion, site, days=89.9)
    Conversion.objects.claim(limit=1)
    Conversion.objects.update(conversion_time=ago(91), claimed_at=ago(1))

    assert Conversion.objects.recover() == 1
    assert Conversion.objects.expire() == 1
    assert ending(row) == EXPIRED
    assert row.outcome_unknown, "the script may have uploaded it"


def test_it_is_a_failure_that_operators_see(site, make_conversion) -> None:
    for _ in range(3):
        make_old(make_conversion, site)

    Conversion.objects.expire()

    assert site_health([site])[site.pk].error_rate == 1


def test_it_cannot_be_retried(site, make_conversion, admin_client) -> None:
    row = make_old(make_conversion, site)
    Conversion.objects.expire()

    assert Conversion.objects.retry_selected() | Conversion.objects.reset_to_queued() == set()
    page = text_of(admin_client, f"/admin/ociqueue/conversion/{row.pk}/change/")
    assert "Failed: the conversion is more than 90 days old, and Google takes none that old." in page


def test_an_old_failure_of_another_kind_cannot_be_retried_either(site, make_conversion) -> None:
    make_old(make_conversion, site, days=89.9)
    Conversion.objects.claim(limit=1)
    Conversion.objects.ack_failed(code="UPLOAD_EXCEPTION", category="TRANSIENT", message="down")
    Conversion.objects.update(conversion_time=ago(91))
    Site.objects.update(requeue_transient=True)

    assert Conversion.objects.retry_selected() == set()
    assert Conversion.objects.requeue_transient() == 0


def test_the_page_of_one_that_waits_says_what_happens(site, make_conversion, admin_client) -> None:
    row = make_old(make_conversion, site)

    page = text_of(admin_client, f"/admin/ociqueue/conversion/{row.pk}/change/")

    assert "The conversion is more than 90 days old, so it is not sent" in page


def test_the_command_ends_them_and_its_dry_run_counts_them(site, make_conversion) -> None:
    make_old(make_conversion, site)
    make_conversion(site, consent_ad_user_data="DENIED")

    assert output_of("oci_end_unsendable", "--dry-run") == "Would withhold 1, expire 1, retract 0.\n"
    assert output_of("oci_end_unsendable") == "Withheld 1, expired 1, retracted 0.\n"
