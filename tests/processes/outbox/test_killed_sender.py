"""A sender that is killed at any point loses no message, and none arrives under two ids or with other bytes."""

import signal
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.workers.doorbells import doorbells
from outbox import batches, sending, settling
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.states import MessageStatus
from tests.support.fixtures.outbox import endpoint
from tests.support.killed_process import die, die_after, fork
from tests.support.outbox import ask_receiver, queue_messages
from tests.support.waiting import wait_until

__all__ = ["endpoint"]

MESSAGES = 40


POINTS = {
    "before it claims": (sending, "claim", die),
    "before it sends": (batches.MessageBatch, "send", die),
    "between two messages": (batches.MessageBatch, "ends_with", staticmethod(die)),
    "before it settles": (sending, "settle", die),
    "before it commits": (settling, "_note_endpoint", die),
    "after it committed": (sending, "settle", die_after(sending.settle)),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", POINTS)
def test_a_sender_killed_at_any_point_loses_no_message(point: str, endpoint: Endpoint) -> None:
    ids = {message.webhook_id for message in queue_messages(endpoint, MESSAGES)}

    assert fork(sending.send_due, *POINTS[point]) == -signal.SIGKILL
    lost = OutboxMessage.objects.filter(status=MessageStatus.SENDING)
    in_flight = lost.update(lease_until=Now() - timedelta(seconds=1))
    assert OutboxMessage.objects.recover() == in_flight
    wait_until(lambda: not doorbells[sending.BELL].is_due() or sending.send_due())

    assert not OutboxMessage.objects.exclude(status=MessageStatus.DELIVERED).exists()
    assert set(ask_receiver(endpoint, "/ids")) == ids
    counts = ask_receiver(endpoint)
    assert counts["accepted"] - counts.get("repeated", 0) == MESSAGES
    assert counts.get("repeated", 0) <= in_flight  # only what was in flight may arrive twice
    assert not counts.keys() & {"invalid", "changed"}
    assert Attempt.objects.values("message_id").distinct().count() == MESSAGES
