"""Messages conform to the lock, and columns agree with states."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.leases import new_lease, no_lease
from kilit.outgoing.results import PostResult, status_error
from outbox import sweeps
from outbox.alerts import sending as alerts
from outbox.alerts.sending import AlertError
from outbox.batches import MessageBatch, Try
from outbox.models import OutboxMessage
from outbox.settling import settle
from tests.support.alerts import make_channel
from tests.support.attempts_conformance import AttemptsConformance, RetriedQueue
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen
from tests.support.outbox import make_all_due, make_message

ERROR = {"error_code": "TIMED_OUT", "error_message": "No answer."}


class TestMessages(LifecycleConformance):
    specimen = Specimen(
        OutboxMessage,
        make=make_message,
        changes={
            "claim": lambda: new_lease(timedelta(minutes=1)),
            "deliver": lambda: {"delivered_at": Now(), **no_lease()},
            "retry_later": no_lease,
            "fail": lambda: {**ERROR, **no_lease()},
            "release": no_lease,
            "recover": no_lease,
            "expire": lambda: ERROR,
            "mark_failed": lambda: ERROR,
            "send_now": dict,
            "retry": lambda: {"error_code": "", "error_message": ""},
            "replay": lambda: {"delivered_at": None, "error_code": "", "error_message": ""},
        },
    )


def answer(message: OutboxMessage, *, status: int) -> None:
    """Store what the receiver of a webhook answered to the worker that claimed it."""
    batch = MessageBatch(message.endpoint, [message])
    batch.tries.append(Try(message, batch.clock.now(), {}, PostResult(0.1, status, error=status_error(status))))
    settle(batch)


def deliver(message: OutboxMessage, *, error: AlertError | None) -> None:
    """Store what became of an alert, for the worker that claimed it."""
    alerts.settle(message.channel, Try(message, timezone.now(), {}, PostResult(0.1, error=error or "")))


MESSAGES = RetriedQueue(
    make=make_message,
    most_attempts=OutboxMessage.schedule.most_attempts,
    make_due=make_all_due,
    claim=lambda: OutboxMessage.objects.claim(limit=100),
    finish=partial(answer, status=200),
    fail=partial(answer, status=500),
    lapse=lambda: OutboxMessage.objects.held().update(lease_until=Now() - timedelta(seconds=1)),
    sweep=sweeps.recover,
    retry=lambda message: OutboxMessage.objects.filter(pk=message.pk).retry(),
)


class TestAttempts(AttemptsConformance):
    queue = MESSAGES


class TestAttemptsOfAlerts(AttemptsConformance):
    queue = replace(
        MESSAGES,
        make=lambda: make_message(endpoint=None, channel=make_channel()),
        claim=lambda: OutboxMessage.objects.claim_alerts(limit=100),
        finish=partial(deliver, error=None),
        fail=partial(deliver, error=AlertError.TIMEOUT),
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    "columns", [{"delivered_at": Now()}, {"attempt_count": OutboxMessage.schedule.most_attempts + 1}]
)
def test_the_database_keeps_columns_and_states_in_agreement(columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_message(**columns)
