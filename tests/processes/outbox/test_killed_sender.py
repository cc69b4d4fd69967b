"""A sender that is killed at any point loses no message, and none arrives under two ids or with other bytes."""

import json
import os
import signal
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models.functions import Now

from outbox import batches, sending, settling
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.states import MessageStatus
from tests.support.fixtures.outbox import endpoint
from tests.support.outbox import queue_messages
from tests.support.waiting import wait_until

__all__ = ["endpoint"]

MESSAGES = 40


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function do its work, and then die."""

    def run(*args: Any, **options: Any) -> None:
        function(*args, **options)
        die()

    return run


POINTS = {
    "before it claims": (sending, "claim", die),
    "before it sends": (batches.MessageBatch, "send", die),
    "between two messages": (batches.MessageBatch, "ends_with", staticmethod(die)),
    "before it settles": (sending, "settle", die),
    "before it commits": (settling, "_note_endpoint", die),
    "after it committed": (sending, "settle", after(sending.settle)),
}


def fork(place: Any, name: str, replacement: Any) -> int:
    """Send in a process of its own, with one function replaced; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            for connection in connections.all():
                connection.connection = None  # the parent's; closing it here would end it there
            setattr(place, name, replacement)
            sending.send_due()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ask(endpoint: Endpoint, path: str = "/") -> dict[str, Any]:
    with urllib.request.urlopen(endpoint.url.rstrip("/") + path) as response:
        return json.load(response)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", POINTS)
def test_a_sender_killed_at_any_point_loses_no_message(point: str, endpoint: Endpoint) -> None:
    ids = {message.webhook_id for message in queue_messages(endpoint, MESSAGES)}

    assert fork(*POINTS[point]) == -signal.SIGKILL
    lost = OutboxMessage.objects.filter(status=MessageStatus.SENDING)
    in_flight = lost.update(lease_until=Now() - timedelta(seconds=1))
    assert OutboxMessage.objects.recover() == in_flight
    wait_until(lambda: not sending.is_due() or sending.send_due())

    assert not OutboxMessage.objects.exclude(status=MessageStatus.DELIVERED).exists()
    assert set(ask(endpoint, "/ids")) == ids
    counts = ask(endpoint)
    assert counts["accepted"] - counts.get("repeated", 0) == MESSAGES
    assert counts.get("repeated", 0) <= in_flight  # only what was in flight may arrive twice
    assert not counts.keys() & {"invalid", "changed"}
    assert Attempt.objects.values("message_id").distinct().count() == MESSAGES
