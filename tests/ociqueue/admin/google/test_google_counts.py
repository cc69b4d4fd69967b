"""Google's counts in the console: the page, the badge, the problem and the button."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models.functions import Now

from kilit.problems.kinds import ProblemKind
from kilit.workers.models import Bell, Heartbeat
from ociqueue.models import Credentials, ReadBack, Site
from ociqueue.reconcile import run
from ociqueue.states import SyncMethod
from tests.support.dashboard import problems
from tests.support.uploads import SITES, html

pytestmark = pytest.mark.django_db(transaction=True)


def counts_of(site: Site) -> str:
    return f"{SITES}{site.pk}/google-counts/"


def day(age: int = 2, **columns: object) -> dict[str, object]:
    google = {"successful": 3, "failed": 0, "pending": 0}
    row = {"day": f"2026-11-{16 - age}", "action": "7", "name": "Satış", "google": google, "findings": []}
    return {**row, "accepted": 3, "failed": 0, "due": 3, "unknown": 0, "elsewhere": 0, **columns}


def store(site: Site, *days: dict[str, object], differs: bool = False, **columns: object) -> None:
    since = {"differs_since": datetime(2026, 11, 15, tzinfo=UTC)} if differs else {}
    read = {"time_zone": "Europe/Istanbul", "read_at": Now(), "compared_at": Now(), "tried_at": Now()}
    ReadBack.objects.note(site, days=list(days), differs=differs, **since, **read, **columns)


MISSING = day(google={"successful": 1, "failed": 0, "pending": 0}, findings=["MISSING"])


@pytest.fixture
def operator(make_person, api_site):
    return make_person("ali", role="operator", sites={api_site: "operator"})


def test_the_page_shows_both_numbers_and_says_what_differs(operator, api_site) -> None:
    more = day(3, google={"successful": 3, "failed": 1, "pending": 0}, findings=["MORE", "MORE_FAILED"])
    store(api_site, day(1), MISSING, more, differs=True)

    page = html(operator, counts_of(api_site))

    assert "2026-11-14, Satış: we sent 3, Google has 1" in page
    assert [word in page for word in ("agrees", "Google has fewer", "Google has more", "failed at Google")] == [
        True
    ] * 4
    assert "Europe/Istanbul" in page


def test_an_error_that_only_google_knows_is_on_the_page(operator, api_site) -> None:
    alerts = [
        {"error": "CLICK_NOT_FOUND", "share": 0.5, "client": "GOOGLE_ADS_API", "action": "", "seen": False},
        {"error": "UNPARSEABLE_GCLID", "share": 0.1, "client": "GOOGLE_ADS_API", "action": "", "seen": True},
    ]
    store(api_site, day(), alerts=alerts)

    page = html(operator, counts_of(api_site))

    assert "Google reports CLICK_NOT_FOUND for 50 % of the last uploads" in page
    assert "UNPARSEABLE_GCLID" not in page


def test_a_difference_is_a_badge_and_a_problem(operator, api_site, admin_user) -> None:
    store(api_site, MISSING, differs=True)

    assert "Google&#x27;s counts differ" in html(operator, SITES)
    assert "Google counted fewer conversions than it accepted." in html(operator, f"{SITES}{api_site.pk}/change/")
    (problem,) = problems(ProblemKind.READ_BACK_DIFFERS, admin_user)
    assert (problem.link, problem.since) == (counts_of(api_site), datetime(2026, 11, 15, tzinfo=UTC))
    assert api_site.name in problem.title
    assert "Satış: we sent 3, Google has 1" in problem.cause


def test_without_a_difference_there_is_neither(operator, api_site, admin_user) -> None:
    store(api_site, day())

    assert "counts differ" not in html(operator, SITES)
    assert problems(ProblemKind.READ_BACK_DIFFERS, admin_user) == []


def test_read_now_asks_a_worker(operator, api_site, google) -> None:
    Heartbeat.objects.create(name="w1", alive_at=Now())
    run.reconcile_due()

    answer = operator.post(f"{counts_of(api_site)}read/")

    assert (answer.status_code, answer["Location"]) == (302, counts_of(api_site))
    assert Bell.objects.filter(name="oci_reconcile", rung_at__isnull=False).exists()
    assert "waiting for a worker" in html(operator, counts_of(api_site))
    assert run.handle_bell() == "Compared 1, differing 0, not read 0."
    assert "waiting for a worker" not in html(operator, counts_of(api_site))


@pytest.mark.parametrize(
    ("sender", "has_login", "expected"),
    [
        (SyncMethod.SCRIPT, False, "copy the script again"),
        (SyncMethod.API, False, "once a login for the Google Ads API is stored"),
        (SyncMethod.API, True, "have not been read yet"),
        (SyncMethod.DATA_MANAGER, True, "Google gives a verdict on each conversion"),
    ],
)
def test_an_empty_page_says_what_to_do(operator, api_site, sender, has_login, expected) -> None:
    Site.objects.update(sync_method=sender)
    if not has_login:
        Credentials.objects.all().delete()

    page = " ".join(html(operator, counts_of(api_site)).split())

    assert expected in page
    assert ("Read now" in page) == (sender == SyncMethod.API and has_login)


def test_a_difference_that_was_found_long_ago_is_over(operator, api_site) -> None:
    store(api_site, MISSING, differs=True)
    ReadBack.objects.update(compared_at=datetime.now(UTC) - timedelta(days=8))

    assert "counts differ" not in html(operator, SITES)
