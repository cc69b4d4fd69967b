"""Messages end: those that waited too long expire, and old ones are deleted with their attempts."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from kilit.workers import doorbells
from kilit.workers.models import Bell
from outbox import sweeps
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MESSAGES, MessageStatus
from tests.support.outbox import make_attempt, make_endpoint, make_message, make_old

pytestmark = pytest.mark.django_db


def status_of(message: OutboxMessage) -> str:
    return OutboxMessage.objects.get(pk=message.pk).status


def test_what_waited_too_long_for_an_endpoint_that_is_off_expires() -> None:
    off = make_endpoint()
    Endpoint.objects.all().switch_off(OffReason.OPERATOR)
    on = make_endpoint()
    expired, replayed, tried = make_old(endpoint=off), make_old(endpoint=off), make_old(endpoint=on)
    young = make_message(endpoint=off)
    OutboxMessage.objects.filter(pk=replayed.pk).update(updated_at=Now())

    assert OutboxMessage.objects.expire() == 1

    assert status_of(expired) == MessageStatus.FAILED
    assert {status_of(message) for message in (young, replayed, tried)} == {MessageStatus.QUEUED}


def test_recovered_messages_ring_for_a_sender(django_capture_on_commit_callbacks, monkeypatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(doorbells, "ring_now", lambda name, **_: rung.append(name))
    make_message()
    OutboxMessage.objects.claim(limit=1)
    OutboxMessage.objects.update(lease_until=Now() - timedelta(seconds=1))

    with django_capture_on_commit_callbacks(execute=True):
        assert sweeps.recover() == "Recovered 1, expired 0."

    assert rung == [MESSAGES.queue]
    assert Bell.objects.count() == 0


def test_old_messages_that_ended_are_deleted_with_old_attempts(settings) -> None:
    settings.KEEP_MESSAGES_DAYS = 30
    ended, waiting, recent = make_old(days=40), make_old(days=40), make_old(days=20)
    for message in (ended, recent):
        OutboxMessage.objects.filter(pk=message.pk).mark_failed()
    for days in (40, 35, 20):
        at = datetime.now(UTC) - timedelta(days=days)
        make_attempt(ended, started_at=at)
    with connection.cursor() as cursor:  # as if the moves had been long ago
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE outbox_outboxmessage SET updated_at = created_at")
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")

    assert sweeps.prune() == "Pruned 1 of message. Deleted 2 attempts."

    assert set(OutboxMessage.objects.values_list("pk", flat=True)) == {waiting.pk, recent.pk}
    assert Attempt.objects.count() == 1


def test_attempts_are_deleted_in_batches(monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "BATCH", 2)
    at = datetime.now(UTC) - timedelta(days=40)
    for number in range(5):
        make_attempt(make_message(), number=number, started_at=at)

    assert sweeps.delete_attempts(older_than=timedelta(days=30)) == 5
