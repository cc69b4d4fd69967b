"""When sites are compared, and what scripts reported beside what they sent of Google's counts."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F

from kilit.lock.clock import database_time
from kilit.sentences import english
from kilit.workers import doorbells, sweeps
from ociqueue.models import Conversion, Credentials, ReadBack, Site, UploadSummary
from ociqueue.reconcile import run
from ociqueue.reconcile.compare import Finding
from ociqueue.reconcile.reading import Reading, store
from ociqueue.uploader.upload_run import upload_due
from tests.support.commands import output_of
from tests.support.guarded_columns import write_unguarded
from tests.support.readback import DAY, ISTANBUL, OTHER_CLIENT, found, noon
from tests.support.uploads import CUSTOMER, account

pytestmark = pytest.mark.django_db(transaction=True)

# Script sites


def post(site: Site, *days: tuple[int, int, int], name: str = "Sale") -> None:
    """Store what a script sends: so many days ago, so many successful and failed."""
    today = datetime.now(ISTANBUL).date()
    action: dict[str, Any] = {"action_id": 7, "action_name": name, "client": OTHER_CLIENT, "pending": 0}
    rows = [
        UploadSummary(upload_date=today - DAY * age, successful=good, failed=bad, **action) for age, good, bad in days
    ]
    store(site, Reading("9876543210", "Europe/Istanbul", rows), read_at=database_time())


def acknowledge(site: Site, rows: list[Conversion], at: datetime) -> None:
    mine = Conversion.objects.filter(pk__in=[row.pk for row in rows])
    Conversion.objects.for_site(site).claim(limit=1000)
    mine.move("ack")
    mine.update(claimed_at=at, updated_at=at)


def test_what_a_script_reported_is_compared_by_day(site, make_rows) -> None:
    acknowledge(site, make_rows(site, count=3, action="Sale"), noon(3))
    acknowledge(site, make_rows(site, "a", "b", action="Sale"), noon(2))

    post(site, (3, 3, 0), (2, 2, 0))
    assert found(site) == []

    post(site, (3, 2, 0), (2, 1, 1))
    assert found(site) == [(2, [Finding.MORE_FAILED]), (3, [Finding.MISSING])]


def test_a_row_that_was_claimed_twice_may_have_been_uploaded_twice(site, make_rows) -> None:
    rows = make_rows(site, count=3, action="Sale")
    acknowledge(site, rows, noon(3))
    write_unguarded(Conversion.objects.all(), attempt_count=F("attempt_count") + 1)

    post(site, (3, 3, 3))
    assert found(site) == []

    post(site, (3, 4, 3))
    assert found(site) == [(3, [Finding.MORE])]


# When


def test_a_site_is_read_hourly_while_it_uploads_and_daily_otherwise(google, api_site, make_rows) -> None:
    def is_due(*, tried: timedelta) -> bool:
        ReadBack.objects.update(tried_at=database_time() - tried)
        return run.due_sites().filter(pk=api_site.pk).exists()

    assert run.due_sites().filter(pk=api_site.pk).exists()
    run.handle_bell()
    assert not run.due_sites().exists()
    assert not is_due(tried=timedelta(hours=23))
    assert is_due(tried=timedelta(hours=25))

    make_rows(api_site, "a")
    upload_due()
    assert is_due(tried=timedelta(minutes=61))
    assert not is_due(tried=timedelta(minutes=59))
    ReadBack.objects.request(api_site)
    assert run.due_sites().filter(pk=api_site.pk).exists()


def test_an_account_that_cannot_be_read_is_not_due_again_at_once(google, api_site) -> None:
    google.login = "invalid_grant"

    assert run.handle_bell() == "Compared 0, differing 0, not read 1."

    assert "create a new refresh token" in english(ReadBack.objects.get().error)
    assert not run.due_sites().exists()


def test_an_account_that_cannot_be_compared_does_not_stop_the_others(google, api_site, make_api_site, upload) -> None:
    upload(api_site, noon(3))
    Site.objects.update(name="Second")
    first = make_api_site(name="First")
    ReadBack.objects.note(first, tried_at=None)
    zones = iter(["Europe/Atlantis", "Europe/Istanbul"])
    google.search = lambda asked: (
        [{"customer": {"id": 1, "time_zone": next(zones)}}] if "FROM customer" in asked.query else []
    )

    assert run.handle_bell() == "Compared 1, differing 1, not read 1."

    errors = {english(error) for error in ReadBack.objects.values_list("error", flat=True)}
    assert errors == {"", "Comparing failed: ZoneInfoNotFoundError."}


def test_an_answer_replaces_the_one_before(google, api_site, upload) -> None:
    upload(api_site, noon(6))
    found(api_site)
    google.books.entries[0].at = noon(5)
    found(api_site)
    found(api_site)

    assert [row.upload_date for row in UploadSummary.objects.all()] == [noon(5).date()]


def test_command_sweep_and_bell(google, api_site, upload) -> None:
    upload(api_site, noon(3))

    assert output_of("oci_reconcile", "--dry-run") == "Would compare 1 site.\n"
    of_site = output_of("oci_reconcile", "--site", api_site.public_id)
    assert of_site == "Compared 1, differing 0, not read 0.\n"
    assert sweeps.run("oci_reconcile") == "Compared 0, differing 0, not read 0."
    assert not doorbells.doorbells["oci_reconcile"].is_due()


def test_a_comparison_decrypts_the_logins_of_its_own_account_alone(google, make_api_site, monkeypatch) -> None:
    mine, other = make_api_site(), make_api_site(name="other")
    Credentials.objects.store(
        other, account(customer_id="5550001111", conversion_action="customers/5550001111/conversionActions/7")
    )
    stored = ReadBack(site=mine, customer_id=CUSTOMER)
    monkeypatch.setattr(Credentials, "account", lambda login: {mine.pk: account()}[login.site_id])

    (member,) = run.members_of(stored)

    assert member.site == mine
