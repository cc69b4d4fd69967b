"""The verdict run: when Google is asked, and what becomes of the rows that it took."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kilit.access.encryption import DecryptionError
from kilit.sentences import english
from ociqueue import sentences
from ociqueue.models import Conversion, Credentials, Receipt, Site
from ociqueue.states import SyncMethod
from ociqueue.uploader import providers
from ociqueue.uploader.results import CredentialsRejected, Verdict, VerdictStatus
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.later_provider import make_due
from tests.support.uploads import states

pytestmark = pytest.mark.django_db

PENDING = Verdict(VerdictStatus.PENDING, label="PROCESSING")
UNKNOWN = Verdict(VerdictStatus.UNKNOWN, note="503 from Google")


def test_success_confirms_the_rows(uploaded, dm_site) -> None:
    row, _ = uploaded("one", "two")

    tally = ask_for_verdicts()

    assert str(tally) == "Confirmed 2, rejected 0, deferred 0."
    assert states(dm_site) == ["COMPLETED", "COMPLETED"]
    receipt = Receipt.objects.get()
    assert (receipt.verdict, receipt.confirmed, receipt.settled_at is not None) == ("SUCCESS", 2, True)
    row.refresh_from_db()
    assert (row.open_batch, row.uploaded_at is not None) == (None, True)
    assert row.provider_request_id == receipt.request_id


def test_a_failed_row_has_its_own_reason(uploaded, later, dm_site) -> None:
    uploaded("good", "old", "other")
    later.reasons = {"old": ["EVENT_TOO_OLD"], "other": ["CLICK_NOT_FOUND"]}

    ask_for_verdicts()

    assert states(dm_site) == ["COMPLETED", "FAILED", "FAILED"]
    old = Conversion.objects.get(gclid="old")
    assert (old.provider_error_code, old.provider_error_category) == ("EVENT_TOO_OLD", "VALIDATION")
    assert "too old" in english(old.last_error)
    assert old.provider_request_id == Receipt.objects.get().request_id
    receipt = Receipt.objects.get()
    assert (receipt.verdict, receipt.confirmed, receipt.rejected) == ("PARTIAL_SUCCESS", 1, 2)


def test_nothing_is_asked_before_half_an_hour(later, dm_site, make_rows) -> None:
    make_rows(dm_site, "one")
    upload_due()

    assert not Receipt.objects.due().exists()
    ask_for_verdicts()

    assert later.asked == []
    wait = Receipt.objects.get().next_check_at - Receipt.objects.get().received_at
    assert wait == timedelta(minutes=30)


def test_the_next_question_comes_later_each_time_and_hourly_at_most(uploaded, later) -> None:
    uploaded("one")
    later.answer = lambda _id: PENDING
    waits = []

    for _ in range(5):
        ask_for_verdicts()
        receipt = Receipt.objects.get()
        waits.append(round((receipt.next_check_at - receipt.checked_at).total_seconds() / 60, 1))
        Receipt.objects.update(next_check_at=Now())

    assert waits == [39, 50.7, 60, 60, 60]
    assert (receipt.checks, receipt.settled_at, states(receipt.batch.site)) == (5, None, ["UPLOADED"])


@pytest.mark.parametrize("answer", [PENDING, UNKNOWN])
def test_no_verdict_after_72_hours_loses_the_row(uploaded, later, answer) -> None:
    (row,) = uploaded("one")
    later.answer = lambda _id: answer

    make_due(hours=71)
    ask_for_verdicts()
    row.refresh_from_db()
    assert row.status == "UPLOADED"
    make_due(hours=72)
    ask_for_verdicts()

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown, row.provider_error_code) == ("RETRY", True, "VERDICT_LOST")
    assert (row.attempt_count, row.attempts_forgiven, row.send_alone) == (1, 0, False)
    assert row.next_retry_at > timezone.now()
    receipt = Receipt.objects.get()
    assert (receipt.verdict, receipt.put_off, len(later.asked)) == ("LOST", 1, 2)


def test_the_last_question_still_counts(uploaded, dm_site) -> None:
    uploaded("one")
    make_due(hours=100)

    ask_for_verdicts()

    assert states(dm_site) == ["COMPLETED"]


def test_a_receipt_that_google_does_not_know_loses_the_rows(uploaded, later, dm_site) -> None:
    uploaded("one", "two")
    later.answer = lambda _id: Verdict(VerdictStatus.LOST, note="INVALID_REQUEST_ID")

    ask_for_verdicts()

    assert states(dm_site) == ["RETRY", "RETRY"]
    assert list(Conversion.objects.values_list("outcome_unknown", "send_alone")) == [(True, False)] * 2


def test_a_status_that_cannot_be_read_leaves_the_receipt_open(uploaded, later, dm_site) -> None:
    uploaded("one")
    later.answer = lambda _id: UNKNOWN

    tally = ask_for_verdicts()

    receipt = Receipt.objects.get()
    assert (receipt.note, receipt.settled_at, tally.pending) == ("503 from Google", None, 1)
    assert receipt.next_check_at > timezone.now()
    assert states(dm_site) == ["UPLOADED"]


def test_rejected_credentials_leave_the_receipt_open(uploaded, later, dm_site) -> None:
    uploaded("one")
    later.login = CredentialsRejected("INVALID_GRANT", "The login was revoked.", is_temporary=False)

    ask_for_verdicts()

    assert (Receipt.objects.get().note, states(dm_site)) == ("The login was revoked.", ["UPLOADED"])


def test_missing_and_unreadable_credentials_leave_the_receipt_open(uploaded, later, dm_site, monkeypatch) -> None:
    uploaded("one")
    Credentials.objects.all().delete()

    ask_for_verdicts()
    assert english(Receipt.objects.get().note) == sentences.NO_CREDENTIALS

    def unreadable(*_args: object, **_options: object) -> None:
        raise DecryptionError("No key decrypts it.")

    monkeypatch.setattr(providers, "provider_for", unreadable)
    make_due()
    ask_for_verdicts()
    assert (Receipt.objects.get().note, states(dm_site)) == ("No key decrypts it.", ["UPLOADED"])


def test_an_error_with_one_request_does_not_stop_the_others(later, make_dm_site, make_rows) -> None:
    sites = [make_dm_site(name=name) for name in ("a", "b")]
    for site in sites:
        make_rows(site, f"of-{site.name}")
    upload_due()
    make_due()

    def fail(request_id: str) -> Verdict:
        if later.requests[request_id] == ["of-a"]:
            raise KeyError("a fault of ours")
        return Verdict(VerdictStatus.LOST)

    later.answer = fail
    ask_for_verdicts()

    assert sorted(states(site)[0] for site in sites) == ["RETRY", "UPLOADED"]
    assert "KeyError" in Receipt.objects.open().get().note


def test_a_question_that_does_not_fit_the_quota_is_asked_soon(uploaded, later) -> None:
    uploaded("one")
    later.quota = 0

    ask_for_verdicts()

    receipt = Receipt.objects.get()
    assert (later.asked, receipt.checks, receipt.note) == ([], 0, "")
    assert receipt.next_check_at < timezone.now() + timedelta(minutes=2)


def test_the_quota_of_one_site_does_not_stop_another(later, make_dm_site, make_rows, monkeypatch) -> None:
    sites = [make_dm_site(name=name) for name in ("a", "b")]
    for site in sites:
        make_rows(site, f"{site.name}-1")
    upload_due()
    make_rows(sites[0], "a-2")
    upload_due()
    make_due()
    later.quota = 0
    opened = providers.provider_for

    def with_quota(site: Site, sender: SyncMethod, **options: str) -> object:
        provider = opened(site, sender, **options)
        if site == sites[1]:
            provider.can_ask = lambda: True
        return provider

    monkeypatch.setattr(providers, "provider_for", with_quota)
    ask_for_verdicts()

    assert (states(sites[0]), states(sites[1])) == (["UPLOADED"] * 2, ["COMPLETED"])


@pytest.mark.parametrize("sender", [SyncMethod.SCRIPT, SyncMethod.API])
def test_a_site_that_is_paused_or_has_another_sender_is_asked_for(uploaded, dm_site, sender) -> None:
    uploaded("one")
    Site.objects.filter(pk=dm_site.pk).update(is_paused=True, pause_reason="holiday", sync_method=sender)

    ask_for_verdicts()

    assert states(dm_site) == ["COMPLETED"]


def test_the_run_ends_when_its_time_is_up(uploaded, later) -> None:
    uploaded("one")

    ask_for_verdicts(seconds=0)

    assert later.asked == []
