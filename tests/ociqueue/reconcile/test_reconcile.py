"""Ours beside Google's: real uploads, the simulator's books, and differences that were planted in them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ociqueue.models import Credentials, ReadBack, UploadBatch
from ociqueue.reconcile import run
from ociqueue.reconcile.compare import Finding
from simulators.googleads.books import BookEntry
from tests.support.adjustments import applied_but_late
from tests.support.readback import OTHER_CLIENT, found, noon
from tests.support.uploads import CUSTOMER, account

pytestmark = pytest.mark.django_db(transaction=True)


def test_seven_days_without_a_difference(api_site, upload) -> None:
    for age in range(7):
        upload(api_site, noon(age) if age else datetime.now(UTC), count=age + 1, failing=age % 3)

    assert found(api_site) == []

    stored = ReadBack.objects.get()
    counts = [(row["accepted"], row["failed"], row["google"]) for row in stored.days]
    assert counts == [(n + 1, n % 3, {"successful": n + 1, "failed": n % 3, "pending": 0}) for n in range(7)]
    assert (stored.differs, stored.customer_id, stored.time_zone) == (False, CUSTOMER, "Europe/Istanbul")
    assert {row["name"] for row in stored.days} == {"Satış"}


def lose_rows(entry: BookEntry, books) -> None:
    entry.successful -= 1


def lose_the_request(entry: BookEntry, books) -> None:
    books.entries.remove(entry)


def add_rows(entry: BookEntry, books) -> None:
    entry.successful += 2


def leave_pending(entry: BookEntry, books) -> None:
    entry.successful, entry.pending = 0, entry.successful


def fail_later(entry: BookEntry, books) -> None:
    entry.successful, entry.failed = 0, entry.successful


def add_another_client(entry: BookEntry, books) -> None:
    books.entries.append(BookEntry(entry.at, CUSTOMER, "7", successful=4, client=OTHER_CLIENT))


PLANTS = {
    "missing rows": (lose_rows, 3, Finding.MISSING),
    "a missing request": (lose_the_request, 3, Finding.MISSING),
    "extra rows": (add_rows, 3, Finding.MORE),
    "late pending": (leave_pending, 3, Finding.STILL_PENDING),
    "failed later": (fail_later, 3, Finding.MORE_FAILED),
    "another client": (add_another_client, 3, Finding.OTHER_CLIENT),
    "missing rows of today": (lose_rows, 0, None),
    "pending rows of today": (leave_pending, 0, None),
}


@pytest.mark.parametrize("planted", PLANTS.values(), ids=PLANTS)
def test_a_planted_difference_is_found_and_no_other(google, api_site, upload, planted) -> None:
    plant, age, expected = planted
    entries = {day: upload(api_site, noon(day) if day else datetime.now(UTC)) for day in (0, 3, 6)}
    plant(entries[age], google.books)

    assert found(api_site) == ([(age, [expected])] if expected else [])
    assert ReadBack.objects.get().differs == (expected in (Finding.MISSING, Finding.STILL_PENDING))


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("America/Los_Angeles", -90), ("Asia/Kathmandu", -1), ("Pacific/Auckland", 0), ("America/Los_Angeles", 90)],
)
def test_days_are_those_of_the_google_account(google, api_site, upload, zone, seconds) -> None:
    google.books.zone = zone
    midnight = noon(3, ZoneInfo(zone)).replace(hour=0)
    entry = upload(api_site, midnight + timedelta(seconds=seconds))
    entry.at += timedelta(seconds=2)  # Google's clock is a little ahead

    assert found(api_site) == []


def test_the_day_of_a_clock_change_has_all_its_hours(google, api_site, upload, monkeypatch) -> None:
    """On 1 November 2026 New York has the hour from one to two twice."""
    new_york = ZoneInfo("America/New_York")
    google.books.zone = "America/New_York"
    now = datetime(2026, 11, 4, 12, tzinfo=new_york)
    google.books.clock = lambda: now
    monkeypatch.setattr(run, "database_time", lambda: now)
    for hour in (0, 4, 5, 6, 28):  # in UTC: before, between, and in the last hour of the day
        upload(api_site, datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=hour))
    Credentials.objects.update(changed_at=datetime(2026, 10, 1, tzinfo=UTC))

    run.reconcile_due(sites=[api_site])

    days = ReadBack.objects.get().days
    assert [(row["day"], row["accepted"], row["findings"]) for row in days] == [
        ("2026-11-01", 12, []),
        ("2026-10-31", 3, []),
    ]


def test_two_sites_of_one_account_share_an_action(google, api_site, make_api_site, upload) -> None:
    other = make_api_site(name="Other")
    upload(api_site, noon(3), count=2)
    entry = upload(other, noon(3), count=4)

    assert (found(api_site), found(other)) == ([], [])
    assert set(ReadBack.objects.values_list("is_shared", flat=True)) == {True}

    entry.successful -= 1

    assert (found(api_site), found(other)) == ([(3, [Finding.MISSING])], [(3, [Finding.MISSING])])


def test_names_are_compared_by_their_action(google, api_site, upload) -> None:
    actions = {"Lead": f"customers/{CUSTOMER}/conversionActions/8"}
    Credentials.objects.store(api_site, account(conversion_actions=actions))
    upload(api_site, noon(3), action="Lead", count=2)
    upload(api_site, noon(3), action="Sale", count=1)
    entry = upload(api_site, noon(3), action="Teklif", count=1)
    entry.successful = 0

    assert found(api_site) == [(3, [Finding.MISSING])]
    shown = {row["action"]: (row["accepted"], row["google"]["successful"]) for row in ReadBack.objects.get().days}
    assert shown == {"7": (2, 1), "8": (2, 2)}


def test_uploads_from_before_the_actions_changed_are_in_doubt(api_site, upload, google) -> None:
    entry = upload(api_site, noon(3))
    entry.action = "8"
    Credentials.objects.update(changed_at=noon(2))

    assert found(api_site) == []


def test_credentials_with_the_same_actions_change_nothing(api_site, upload, google) -> None:
    entry = upload(api_site, noon(3))
    assert found(api_site) == []
    Credentials.objects.store(api_site, account(client_secret="another"))
    entry.successful -= 1

    assert found(api_site) == [(3, [Finding.MISSING])]


def test_a_lost_answer_explains_what_google_has_more(google, api_site, make_rows, upload) -> None:
    google.replies.append(applied_but_late)
    upload(api_site, noon(3))

    assert found(api_site) == []
    assert ReadBack.objects.get().days[0]["unknown"] == 3


def test_an_upload_without_an_answer_explains_what_google_has_more(google, api_site, upload) -> None:
    upload(api_site, noon(3))
    UploadBatch.objects.update(answered_at=None, by_action=None)

    assert found(api_site) == []


def test_an_error_that_was_never_seen_here_is_noted(google, api_site, upload) -> None:
    upload(api_site, noon(1), failing=1)
    google.books.alerts = [("UNPARSEABLE_GCLID", 0.25), ("CLICK_NOT_FOUND", 0.5)]

    found(api_site)

    alerts = {alert["error"]: (alert["share"], alert["seen"]) for alert in ReadBack.objects.get().alerts}
    assert alerts == {"UNPARSEABLE_GCLID": (0.25, True), "CLICK_NOT_FOUND": (0.5, False)}
