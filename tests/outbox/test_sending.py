"""Messages are signed and sent, the same bytes under the same id each time, and what receivers answer decides."""

import json
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from standardwebhooks import Webhook

from kilit.lock.audit import acting_as
from kilit.lock.clock import database_time
from kilit.lock.models import QueuePause
from kilit.outgoing import post
from kilit.sentences import english
from kilit.workers.doorbells import doorbells
from outbox import batches, sending
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MESSAGES, RETRY_AFTER, MessageStatus
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.outbox import make_all_due, make_endpoint, make_message, queue_messages, waits
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db


def test_a_message_is_delivered_and_its_attempt_kept(receiver: WebhookReceiver, endpoint_at) -> None:
    endpoint = endpoint_at("/hook?token=secret")
    message = make_message(endpoint=endpoint, body='{"data":"ğ"}')
    receiver.behave(body="thanks\0")
    assert doorbells[sending.BELL].is_due()

    sending.send_due()

    message.refresh_from_db()
    assert (message.status, message.response_code, message.attempt_count) == (MessageStatus.DELIVERED, 200, 1)
    assert message.delivered_at is not None
    assert receiver.accepted == {message.webhook_id: 1}
    (attempt,) = Attempt.objects.all()
    assert (attempt.message_id, attempt.number, attempt.response_code) == (message.pk, 1, 200)
    assert (attempt.answer, attempt.url) == ("thanks", f"{receiver.url}/hook?…")
    assert attempt.request_headers["webhook-id"] == message.webhook_id
    assert "webhook-signature" not in json.dumps(attempt.request_headers)
    assert not doorbells[sending.BELL].is_due()


def test_a_failed_message_is_sent_again_with_the_same_id_and_bytes(receiver: WebhookReceiver, endpoint_at) -> None:
    message = make_message(endpoint=endpoint_at())
    receiver.behave(status=500, body="oops")
    sending.send_due()
    message.refresh_from_db()
    assert (message.status, message.error_code, message.response_code) == (MessageStatus.RETRY, "HTTP_5XX", 500)
    assert english(message.error_message) == "The receiver failed to process the message."

    receiver.behave()
    make_all_due()
    sending.send_due()

    message.refresh_from_db()
    assert (message.status, message.error_code, message.attempt_count) == (MessageStatus.DELIVERED, "", 2)
    assert receiver.counts["/hook"] == {"received": 2, "failed": 1, "accepted": 1, "repeated": 0}
    assert [attempt.answer for attempt in Attempt.objects.order_by("number")] == ["oops", ""]


def test_both_secrets_sign_during_a_rotation(receiver: WebhookReceiver, endpoint_at) -> None:
    endpoint = endpoint_at()
    (old,) = endpoint.secrets(endpoint.created_at)
    new = endpoint.rotate_secret()
    for secret in (old, new):
        receiver.verifiers = [Webhook(secret)]
        make_message(endpoint=endpoint)
        sending.send_due()
    Endpoint.objects.update(previous_until=Now() - timedelta(seconds=1))
    receiver.verifiers = [Webhook(old)]
    make_message(endpoint=endpoint)

    sending.send_due()

    assert receiver.counts["/hook"]["accepted"] == 2
    assert receiver.counts["/hook"]["invalid"] == 1  # the rotation is over


def test_the_schedule_is_kept_and_the_last_attempt_fails_the_message(receiver: WebhookReceiver, endpoint_at) -> None:
    message = make_message(endpoint=endpoint_at())
    receiver.behave(status=500)
    found = []
    for _ in RETRY_AFTER:
        make_all_due()
        sending.send_due()
        found += waits(message)

    make_all_due()
    sending.send_due()

    expected = [timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30)]
    expected += [timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)]
    for wait, scheduled in zip(found, expected, strict=True):
        assert scheduled <= wait <= scheduled * 1.2 + timedelta(seconds=1), (wait, scheduled)
    message.refresh_from_db()
    assert (message.status, message.attempt_count) == (MessageStatus.FAILED, OutboxMessage.schedule.most_attempts)
    assert Attempt.objects.count() == OutboxMessage.schedule.most_attempts


def test_messages_that_fail_together_spread_out(receiver: WebhookReceiver, endpoint_at) -> None:
    messages = queue_messages(endpoint_at(), 20)
    receiver.behave(status=500)

    sending.send_due()

    assert len(set(waits(*messages))) == 20


def test_an_operators_retry_starts_the_schedule_again(receiver: WebhookReceiver, endpoint_at) -> None:
    message = make_message(endpoint=endpoint_at(), attempt_count=OutboxMessage.schedule.most_attempts - 1)
    receiver.behave(status=500)
    sending.send_due()
    assert OutboxMessage.objects.all().retry() == {message.pk}

    sending.send_due()

    (wait,) = waits(message)
    assert timedelta(seconds=5) <= wait <= timedelta(seconds=7)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (308, "REDIRECTED"),
        (404, "HTTP_4XX"),
        (410, "GONE"),
        (429, "RATE_LIMITED"),
        (500, "HTTP_5XX"),
    ],
)
def test_every_other_answer_than_success_is_tried_again(receiver, endpoint_at, status: int, code: str) -> None:
    message = make_message(endpoint=endpoint_at())
    receiver.behave(status=status)

    sending.send_due()

    message.refresh_from_db()
    assert (message.status, message.error_code, message.response_code) == (MessageStatus.RETRY, code, status)
    endpoint = Endpoint.objects.get()
    assert endpoint.failing_since is not None
    assert endpoint.is_on == (status != 410)


def test_what_never_answers_is_tried_again(receiver: WebhookReceiver, endpoint_at, monkeypatch, settings) -> None:
    monkeypatch.setattr(post, "TIME_LIMIT", 0.2)
    endpoint_at("/slow")
    receiver.behave("/slow", delay=30)
    receiver.behave("/cut", closes=True)
    endpoint_at("/cut")
    make_endpoint(url="http://127.0.0.1:1/")
    make_endpoint(url="http://127.0.0.2/")
    messages = [make_message(endpoint=endpoint) for endpoint in Endpoint.objects.order_by("pk")]

    sending.send_due()

    found = [OutboxMessage.objects.get(pk=message.pk) for message in messages]
    assert {message.status for message in found} == {MessageStatus.RETRY}
    codes = [message.error_code for message in found]
    assert codes == ["TIMED_OUT", "CONNECTION_FAILED", "CONNECTION_FAILED", "ADDRESS_NOT_ALLOWED"]


def test_nothing_is_sent_while_the_queue_is_paused_or_the_endpoint_is_off(receiver, endpoint_at) -> None:
    make_message(endpoint=endpoint_at())
    with acting_as("operator:ayse"):
        QueuePause.objects.pause(MESSAGES, reason="maintenance")
    assert not doorbells[sending.BELL].is_due()
    sending.send_due()
    QueuePause.objects.resume(MESSAGES)
    Endpoint.objects.all().switch_off(OffReason.OPERATOR)
    assert not doorbells[sending.BELL].is_due()

    sending.send_due()

    assert receiver.counts == {}
    assert OutboxMessage.objects.filter(status=MessageStatus.QUEUED, attempt_count=0).count() == 1


def test_a_pause_between_the_look_and_the_claim_holds(endpoint_at) -> None:
    """The claim itself asks."""
    endpoint = endpoint_at()
    make_message(endpoint=endpoint)
    QueuePause.objects.pause(MESSAGES, reason="maintenance")

    assert sending.claim(endpoint, limit=1) == []


@pytest.mark.parametrize("clock", [-timedelta(hours=1), timedelta(hours=1)])
def test_signatures_have_the_database_s_time(receiver: WebhookReceiver, endpoint_at, clock) -> None:
    """Receivers reject a signature that is some minutes old or early, and this machine's clock may be wrong."""
    endpoint = endpoint_at()
    make_message(endpoint=endpoint)
    (message,) = sending.claim(endpoint, limit=1)
    message.lease_until += clock  # as if the database were in another hour

    with post.Poster(sending.settings.WEBHOOK_PRIVATE_ADDRESSES) as poster:
        batch = batches.MessageBatch(endpoint, [message]).prepare().send(poster)

    (sent,) = batch.tries
    there = (database_time() + clock).timestamp()
    assert int(sent.headers["webhook-timestamp"]) == pytest.approx(there, abs=PATIENCE)
    assert sent.started_at.timestamp() == pytest.approx(there, abs=PATIENCE)


def test_a_secret_that_cannot_be_decrypted_fails_the_attempt(receiver: WebhookReceiver, endpoint_at, settings) -> None:
    message = make_message(endpoint=endpoint_at())
    settings.CREDENTIAL_KEYS = ["another key"]

    sending.send_due()

    message.refresh_from_db()
    assert (message.status, message.error_code) == (MessageStatus.RETRY, "SECRET_UNREADABLE")
    assert receiver.counts == {}
