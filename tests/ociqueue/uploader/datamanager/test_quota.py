"""Google's limit of requests: a token bucket in the database, shared by all sites of a project."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from ociqueue.models import Conversion, Credentials, RequestQuota
from ociqueue.models.quota import CAPACITY, LEFT_FOR_UPLOADS, REFILL
from ociqueue.uploader.datamanager import provider as quota
from ociqueue.uploader.upload_run import upload_due
from tests.support.uploads import account, states
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

PROJECT = "client:client"


def seconds_pass(seconds: float) -> None:
    passed = timedelta(seconds=seconds)
    RequestQuota.objects.update(refilled_at=F("refilled_at") - passed, ask_refilled_at=F("ask_refilled_at") - passed)


def use_up() -> None:
    bucket = RequestQuota.objects.of(PROJECT)
    bucket.update(tokens=0, refilled_at=F("refilled_at") + timedelta(hours=1))


def in_worst_minute(times: list[float]) -> int:
    return max(sum(start <= time < start + 60 for time in times) for start in times)


@pytest.mark.parametrize(
    ("kind", "rests", "least", "most"),
    [
        (("take", "refilled_at"), (0.0, 0.3, 14.0, *[3.0] * 18), 280, 300),
        (("take_question", "ask_refilled_at"), (0.0, 3.0, *[11.0] * 5, 20.0), 55, 60),
    ],
    ids=["requests", "questions"],
)
def test_no_sliding_minute_has_more_than_google_allows(kind, rests, least, most) -> None:
    """Rests, and in between as many requests as there are tokens."""
    verb, column = kind
    bucket = RequestQuota.objects.of(PROJECT)
    times: list[float] = []
    moved = 0.0
    for rest in rests:
        seconds_pass(rest)
        moved += rest
        while getattr(bucket, verb)():
            times.append(getattr(bucket.get(), column).timestamp() + moved)

    assert least <= in_worst_minute(times) <= most


def test_a_long_rest_saves_no_more_than_a_full_bucket() -> None:
    bucket = RequestQuota.objects.of(PROJECT)
    bucket.update(tokens=0, ask_tokens=0)
    seconds_pass(3600)

    assert bucket.take()
    assert bucket.get().tokens == CAPACITY - 1


def test_questions_leave_tokens_for_uploads() -> None:
    bucket = RequestQuota.objects.of(PROJECT)
    ahead = F("refilled_at") + timedelta(hours=1)  # so that nothing is refilled meanwhile
    bucket.update(tokens=LEFT_FOR_UPLOADS + 2, refilled_at=ahead)

    assert drain(bucket.take_question) == 2, "they count as requests too"
    assert drain(bucket.take) == LEFT_FOR_UPLOADS


def test_threads_that_take_at_once_never_take_a_token_twice(in_threads) -> None:
    began = time.monotonic()
    bucket = RequestQuota.objects.of(PROJECT)
    taken: list[int] = []
    passed = 0.0
    start = threading.Barrier(6)

    def take(_: int) -> int:
        start.wait(timeout=PATIENCE)
        return drain(bucket.take)

    for rest in (0.0, 7.0, 13.0):
        seconds_pass(rest)
        passed += rest
        taken += in_threads(take, count=6)
    elapsed = time.monotonic() - began

    assert CAPACITY + REFILL * passed - 1 <= sum(taken) <= CAPACITY + REFILL * (passed + elapsed)
    assert sum(count > 0 for count in taken[:6]) > 1, "they did take at once"


def test_a_worker_that_waited_for_the_lock_does_not_turn_the_clock_back() -> None:
    """Its statement began before another refilled the bucket: it must not refill the same seconds again."""
    bucket = RequestQuota.objects.of(PROJECT)
    bucket.update(tokens=5, refilled_at=F("refilled_at") + timedelta(minutes=1))
    before = bucket.get().refilled_at

    assert bucket.take()

    assert (bucket.get().tokens, bucket.get().refilled_at) == (4, before)


def test_sites_of_one_client_share_the_quota_and_others_do_not(data_manager, make_dm_site, make_rows) -> None:
    one, two, other = (make_dm_site(name=name) for name in ("one", "two", "other"))
    Credentials.objects.store(other, account(client_id="another"))
    for site in (one, two, other):
        make_rows(site, f"click-{site.name}")
    use_up()

    upload_due()

    assert [states(site) for site in (one, two, other)] == [["QUEUED"], ["QUEUED"], ["UPLOADED"]]
    assert data_manager.logins == 1, "who may not send does not log in either"


def test_a_request_waits_for_its_token(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "one")
    bucket = RequestQuota.objects.of(PROJECT)
    ahead = Now() + timedelta(hours=1)  # so that nothing is refilled meanwhile

    bucket.update(tokens=0.5, refilled_at=ahead)
    assert not bucket.with_tokens()
    bucket.update(refilled_at=Now())
    assert quota.wait_to_send(PROJECT, until=float("inf"))
    bucket.update(tokens=1, refilled_at=ahead)
    assert [quota.wait_to_send(PROJECT, until=0) for _ in range(2)] == [True, False], "a request takes its token"


def test_rows_without_a_token_in_time_keep_their_attempt(data_manager, dm_site, make_rows, monkeypatch) -> None:
    """Another site takes the last token between the question and the request."""
    make_rows(dm_site, count=2)
    asked = quota.DataManager.can_send

    def ask_and_lose(provider: quota.DataManager) -> bool:
        answer = asked(provider)
        use_up()
        return answer

    monkeypatch.setattr(quota.DataManager, "can_send", ask_and_lose)
    monkeypatch.setattr(quota, "TRY_AGAIN_AFTER", 1000)

    upload_due()

    assert not data_manager.uploads
    assert set(Conversion.objects.values_list("status", "attempts_forgiven", "provider_error_code")) == {
        ("RETRY", 1, "QUOTA_USED_UP")
    }


def drain(take: Callable[[], bool]) -> int:
    taken = 0
    while take():
        taken += 1
    return taken
