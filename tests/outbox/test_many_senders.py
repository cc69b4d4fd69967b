"""Several workers at once: the limit of messages in flight holds, and slow endpoints hold up no other."""

import threading
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.workers.doorbells import doorbells
from outbox import batches, sending
from outbox.models import Endpoint, OutboxMessage
from outbox.states import MessageStatus
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.faulty_receiver import deliver_in_spite_of_faults
from tests.support.outbox import queue_messages
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db

SENDERS = 6


def delivered(endpoint: Endpoint) -> int:
    return OutboxMessage.objects.filter(endpoint=endpoint, status=MessageStatus.DELIVERED).count()


@pytest.mark.django_db(transaction=True)
def test_no_more_than_the_limit_is_in_flight(endpoint_at, in_threads, monkeypatch) -> None:
    monkeypatch.setattr(sending, "IN_FLIGHT", 25)
    endpoint = endpoint_at()
    queue_messages(endpoint, 200)
    start = threading.Barrier(SENDERS)

    def claim(_: int) -> int:
        start.wait(timeout=PATIENCE)
        return sum(len(sending.claim(endpoint, limit=2)) for _ in range(10))

    assert sum(in_threads(claim, count=SENDERS)) == 25
    assert OutboxMessage.objects.filter(status=MessageStatus.SENDING).count() == 25
    assert not doorbells[sending.BELL].is_due()  # nothing can be claimed, so supervisors do not ring


@pytest.mark.django_db(transaction=True)
def test_several_workers_send_each_message_once(receiver: WebhookReceiver, endpoint_at, in_threads) -> None:
    ids = {message.webhook_id for message in queue_messages(endpoint_at(), 300)}

    in_threads(lambda _: sending.send_due(), count=3)

    assert receiver.accepted == dict.fromkeys(ids, 1)
    assert not OutboxMessage.objects.exclude(status=MessageStatus.DELIVERED).exists()


def test_slow_endpoints_do_not_hold_up_others(receiver: WebhookReceiver, endpoint_at, monkeypatch) -> None:
    """Ten endpoints are slow, and one gets all its messages before the first of them answers."""
    quick, turns, quick_first = endpoint_at("/quick"), [], []
    for number in range(10):
        receiver.behave(f"/slow{number}", delay=3)
        slow = endpoint_at(f"/slow{number}")
        queue_messages(slow, 20)
        sending.paces[slow.pk] = 3.0
    queue_messages(quick, 100)
    start, settle = sending._Turn._start, sending.settle

    def start_and_count(turn, endpoint) -> bool:
        result = start(turn, endpoint)
        turns.append(sum(not sending.is_quick(one) for one in turn.running.values()))
        return result

    def settle_and_look(batch: sending.MessageBatch) -> None:
        settle(batch)
        if batch.endpoint.pk != quick.pk:
            quick_first.append(delivered(quick))

    monkeypatch.setattr(sending._Turn, "_start", start_and_count)
    monkeypatch.setattr(sending, "settle", settle_and_look)
    monkeypatch.setattr(sending, "TURN", 0.1)  # a turn that is over still serves the quick one

    sending.send_due()

    assert max(turns) == sending.THREADS // 2
    assert quick_first == [100] * (sending.THREADS // 2)


def test_a_batch_gives_back_what_a_slow_endpoint_keeps_it_from(receiver, endpoint_at, monkeypatch) -> None:
    monkeypatch.setattr(batches, "STOP_AFTER", 0.05)
    monkeypatch.setattr(sending, "TURN", 0.0)
    endpoint = endpoint_at()
    queue_messages(endpoint, 5)
    receiver.behave(delay=0.1)

    with sending.Poster(sending.settings.WEBHOOK_PRIVATE_ADDRESSES) as poster:
        sending.settle(sending.MessageBatch(endpoint, sending.claim(endpoint, limit=5)).prepare().send(poster))

    assert delivered(endpoint) == 1
    rest = OutboxMessage.objects.filter(status=MessageStatus.RETRY, attempts_forgiven=1, next_try_at__lte=Now())
    assert rest.count() == 4


def test_a_batch_that_breaks_leaves_its_messages_to_the_sweep(receiver, endpoint_at, monkeypatch) -> None:
    broken, whole = endpoint_at("/broken"), endpoint_at("/whole")
    queue_messages(broken, 1)
    queue_messages(whole, 1)
    send = batches.MessageBatch.send

    def fail_for_one(batch: batches.MessageBatch, poster: sending.Poster) -> batches.MessageBatch:
        if batch.endpoint.pk == broken.pk:
            raise RuntimeError
        return send(batch, poster)

    monkeypatch.setattr(batches.MessageBatch, "send", fail_for_one)
    sending.send_due()
    assert delivered(whole) == 1
    assert OutboxMessage.objects.filter(status=MessageStatus.SENDING).update(lease_until=Now() - timedelta(1)) == 1

    assert OutboxMessage.objects.recover() == 1

    assert OutboxMessage.objects.get(endpoint=broken).attempt_count == 1


def test_messages_reach_a_receiver_that_fails_at_random_is_stopped_and_slow(receiver, endpoint_at) -> None:
    """Ten thousand would take a minute; `make bench` sends them (the figure outbox_faults)."""
    deliver_in_spite_of_faults(receiver, endpoint_at(), 500)
