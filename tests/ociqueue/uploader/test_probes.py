"""An open circuit lets one row through at a time: whose turn that is, and what it costs the row."""

from unittest.mock import Mock

import pytest

from ociqueue.models import Circuit, Conversion
from ociqueue.states import Category
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.upload_run import upload_due
from tests.support.uploads import deny_permission, probe_and_upload, states

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_failed_probe_uses_one_row_and_waits_longer_each_time(google, api_site, make_rows, sql) -> None:
    make_rows(api_site, count=3)
    google.replies.extend([deny_permission] * 4)
    upload_due()
    waits = []
    for _ in range(3):
        probe_and_upload()
        ((seconds,),) = sql("SELECT extract(epoch FROM next_probe_at - now()) FROM ociqueue_circuit")
        waits.append(round(seconds / 600))

    assert [len(call.request.conversions) for call in google.calls] == [3, 1, 1, 1]
    assert waits == [1, 2, 4]
    assert not Conversion.objects.exclude(attempts_forgiven=0).filter(status="FAILED").exists()


def test_of_many_uploaders_one_gets_the_probe(google, api_site, make_rows, in_threads) -> None:
    make_rows(api_site, count=3)
    google.replies.extend([deny_permission] * 5)
    upload_due()
    Circuit.objects.all().probe_now()

    in_threads(lambda _: upload_due(), count=4)

    assert [len(call.request.conversions) for call in google.calls] == [3, 1]


def test_a_row_that_fails_on_its_own_closes_the_circuit_too(google, api_site, make_rows) -> None:
    """The probe asks whether the account works: Google looked at the row, so it does."""
    make_rows(api_site, "FAIL-UNPARSEABLE_GCLID-1")
    Circuit.objects.trip(api_site, code="X", category=Category.AUTH, reason="why")
    probe_and_upload()

    assert states(api_site) == ["FAILED"]
    assert not Circuit.objects.open().exists()


@pytest.mark.parametrize("reply", [lambda call: call.refuse("UNAVAILABLE"), lambda call: call.accept(results=0)])
def test_a_probe_that_is_lost_on_the_way_or_proves_nothing_closes_nothing(google, api_site, make_rows, reply) -> None:
    make_rows(api_site, count=3)
    Circuit.objects.trip(api_site, code="X", category=Category.AUTH, reason="why")
    Circuit.objects.all().probe_now()
    google.replies.append(reply)

    upload_due()

    assert len(google.calls) == 1
    assert Circuit.objects.open().get().reason == "why"


def test_the_next_probe_is_another_rows_turn(google, api_site, make_rows) -> None:
    make_rows(api_site, "first", "second")
    google.replies.extend([deny_permission] * 3)
    upload_due()
    for _ in range(2):
        probe_and_upload()

    assert [call.request.conversions[0].gclid for call in google.calls[1:]] == ["first", "second"]


def test_a_row_that_always_fails_as_a_probe_does_not_hold_its_site_back(google, api_site, make_rows) -> None:
    """It was alone for days and is the oldest of all; the next row gets the next probe."""
    make_rows(api_site, "bad")
    google.errors["bad"] = [{"family": "authorization_error", "name": "USER_PERMISSION_DENIED"}]
    upload_due()
    for _ in range(3):
        probe_and_upload()
    assert [len(call.request.conversions) for call in google.calls] == [1] * 4, "no wait of its own delays a probe"
    make_rows(api_site, "good", "fine")

    probe_and_upload()

    assert google.calls[4].request.conversions[0].gclid == "good"
    assert dict(Conversion.objects.values_list("gclid", "status")) == {
        "bad": "RETRY",
        "good": "COMPLETED",
        "fine": "COMPLETED",
    }
    assert not Circuit.objects.open().exists()


STILL_OPEN = {
    "an action that is gone": lambda call: call.accept(
        [{"family": "conversion_upload_error", "name": "NO_CONVERSION_ACTION_FOUND", "index": 0}]
    ),
    "an old version": lambda call: call.refuse(
        "INVALID_ARGUMENT", {"family": "request_error", "name": "UNSUPPORTED_VERSION"}
    ),
    "an outage": lambda call: call.refuse("UNAVAILABLE"),
    "a limit": lambda call: call.refuse("RESOURCE_EXHAUSTED"),
    "a limit inside an answer": lambda call: call.accept(
        [{"family": "quota_error", "name": "RESOURCE_EXHAUSTED", "index": 0}]
    ),
}


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
@pytest.mark.parametrize("fault", STILL_OPEN)
@pytest.mark.by_day(2)
def test_no_row_uses_up_its_attempts_while_the_circuit_is_open(google, api_site, make_rows, fault) -> None:
    """What is the account's fault, or Google's, costs a row nothing but time."""
    (row,) = make_rows(api_site, "only")
    google.replies.extend([STILL_OPEN[fault]] * 20)
    for _ in range(9):  # the eighth attempt that counts would be the last
        Conversion.objects.update(next_retry_at=None)
        probe_and_upload()

    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("RETRY", 9)
    assert row.attempts_forgiven >= 7, "two uploads are lost before it is an outage"
    assert Circuit.objects.open().exists()


def test_a_row_on_which_our_own_library_fails_comes_to_an_end(google, api_site, make_rows, monkeypatch) -> None:
    """It may be the row, so its probes count."""
    (row,) = make_rows(api_site, "only")
    monkeypatch.setattr(GoogleAds, "upload", Mock(side_effect=RuntimeError("a bug of theirs")))
    for _ in range(12):
        Conversion.objects.update(next_retry_at=None)
        probe_and_upload()
        Conversion.objects.cap()

    row.refresh_from_db()
    assert (row.status, row.attempt_count, row.attempts_forgiven) == ("FAILED", 8, 0)
