"""Advice of a row's error agrees with its facts: its sender, whether it goes on by itself, whether Google answered."""

import re
from itertools import product

import pytest

from kilit.batches.error_entries import ErrorEntry
from ociqueue.codes.table import ADJUSTMENT_ENTRIES, CONVERSION_ENTRIES, ErrorFacts, entry_for
from ociqueue.models import Conversion
from ociqueue.problems.blockers import reasons
from tests.support.api import Api

CODES = [
    (table, code)
    for table in (CONVERSION_ENTRIES, ADJUSTMENT_ENTRIES)
    for code in (*table, "MADE_UP", "CUSTOMER_NOT_ENABLED", "")
]
CATEGORIES = ["VALIDATION", "TRANSIENT", "AUTH", "RATE_LIMIT", "PERMANENT", ""]
BY_ITSELF = re.compile(r"\bsent again\b|by itself")
AGAIN = re.compile(r"\b[Rr]etry\b")
LOGIN = re.compile(r"Google login|refresh token|connection test|developer token|login customer id|Data Manager")


def cards(*, sender: str, goes_on: bool) -> list[tuple[str, ErrorEntry]]:
    facts = [
        (table, ErrorFacts(code, category, sender, goes_on)) for (table, code), category in product(CODES, CATEGORIES)
    ]
    return [(f"{each.code} {each.category}", entry_for(table, each)) for table, each in facts]


@pytest.mark.parametrize("sender", ["script", "api", "datamanager"])
def test_no_failed_row_is_said_to_go_on_by_itself(sender: str) -> None:
    wrong = [
        (name, entry.hint, entry.turn)
        for name, entry in cards(sender=sender, goes_on=False)
        if BY_ITSELF.search(entry.hint) or entry.turn in ("kilit", "google")
    ]

    assert wrong == []


@pytest.mark.parametrize("sender", ["script", "api", "datamanager"])
def test_nobody_is_told_to_retry_what_goes_on_by_itself(sender: str) -> None:
    wrong = [
        (name, entry.hint, entry.turn)
        for name, entry in cards(sender=sender, goes_on=True)
        if AGAIN.search(entry.hint) or (entry.turn not in ("admin", "kilit", "google"))
    ]

    assert wrong == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_script_site_is_never_sent_to_the_login_of_an_api(goes_on) -> None:
    wrong = [
        (name, entry.hint)
        for name, entry in cards(sender="script", goes_on=goes_on)
        if LOGIN.search(entry.advice) or "connection" in (*entry.row, *entry.group)
    ]

    assert wrong == []


@pytest.mark.parametrize("sender", ["script", "api", "datamanager"])
def test_whoever_has_the_turn_has_something_to_do(sender: str) -> None:
    """And only an expected failure leaves nothing to do, and nobody's turn."""
    failed = cards(sender=sender, goes_on=False)

    idle = [name for name, entry in failed if not (entry.advice or entry.is_final or entry.is_expected)]
    busy = [(name, entry.advice) for name, entry in failed if entry.is_expected and entry.advice]
    several = [(name, entry.advice) for name, entry in failed if "Nothing has to be done." in entry.advice]

    assert (idle, busy, several) == ([], [], [])


@pytest.mark.parametrize(
    ("code", "sender", "advice"),
    [
        ("CUSTOMER_NOT_ENABLED", "script", "Activate it in Google Ads, under Admin > Account settings. Then retry."),
        ("CUSTOMER_NOT_ENABLED", "api", "Activate it in Google Ads, under Admin > Account settings. Then retry."),
        ("EVENT_NOT_FOUND", "script", "If the click is less than a day old, retry tomorrow."),
        ("NO_CONVERSION_ACTION_FOUND", "script", "Create an import of clicks with this very name in Google Ads. Then"),
        ("USER_PERMISSION_DENIED", "script", "In Google Ads, open Tools > Bulk actions > Scripts, authorise"),
        ("USER_PERMISSION_DENIED", "api", "Correct the site's Google login. Then retry."),
        ("TOO_RECENT_EVENT", "script", "Retry later."),
    ],
)
def test_an_advice_fits_code_and_sender(code: str, sender: str, advice: str) -> None:
    entry = entry_for(CONVERSION_ENTRIES, ErrorFacts(code, "AUTH", sender, goes_on=False))

    assert advice in entry.hint


def sentences(row: Conversion) -> str:
    return " ".join(str(each.sentence) for each in reasons(Conversion.objects.get(pk=row.pk), []))


@pytest.fixture
def too_recent(api: Api, site, make_conversion) -> Conversion:
    row: Conversion = make_conversion(site)
    api.claim(site)
    error = {"errorCode": "TOO_RECENT_EVENT", "errorCategory": "TRANSIENT", "errorMessage": "Too recent."}
    api.post("oci/ack-failed", {"siteId": site.public_id, "queueIds": [str(row)], **error})
    return row


@pytest.mark.django_db
def test_a_card_says_once_whether_a_failure_is_retried(site, too_recent) -> None:
    off = sentences(too_recent)
    site.requeue_transient = True
    site.save(update_fields=["requeue_transient"])
    on = sentences(too_recent)

    assert "It will not be retried automatically." in off
    assert not BY_ITSELF.search(off)
    assert "oci_requeue_transient retries it" in on
    assert "Retry later" not in on
    too_recent.refresh_from_db()
    assert (too_recent.entry.turn, "is sent again" in too_recent.entry.hint) == ("google", True)


@pytest.mark.django_db
def test_a_retry_changes_nothing_of_what_is_known_about_the_first_attempt(site, too_recent) -> None:
    before = sentences(too_recent)
    Conversion.objects.retry_selected()
    after = sentences(too_recent)

    assert "Perhaps sent: the script reported an error" in before
    assert "Perhaps sent: the script reported an error" in after
    assert "no answer came" not in after


@pytest.mark.django_db
def test_a_script_that_died_and_an_answer_that_was_lost_are_two_things(site, api, make_conversion) -> None:
    row = make_conversion(site)
    api.claim(site)
    Conversion.objects.update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()

    by_script = sentences(row)
    site.sync_method = "api"
    site.save(update_fields=["sync_method"])
    by_api = sentences(row)

    assert "a run of the script had it and did not report it as sent" in by_script
    assert "it was sent and no answer came" in by_api
