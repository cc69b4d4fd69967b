"""Messages conform to the lock, and columns agree with states."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from kilit.lock.leases import new_lease, no_lease
from outbox.models import OutboxMessage
from outbox.states import MAX_ATTEMPTS, MessageStatus
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen
from tests.support.outbox import make_message

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
            "retry": lambda: {"error_code": "", "error_message": ""},
            "replay": lambda: {"delivered_at": None, "error_code": "", "error_message": ""},
        },
    )


@pytest.mark.django_db
@pytest.mark.parametrize("columns", [{"delivered_at": Now()}, {"attempt_count": MAX_ATTEMPTS + 1}])
def test_the_database_keeps_columns_and_states_in_agreement(columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_message(**columns)


@pytest.mark.django_db
def test_a_lost_worker_costs_an_attempt_and_the_last_one_fails_the_message() -> None:
    young, old = make_message(), make_message(attempt_count=MAX_ATTEMPTS - 1)
    assert len(OutboxMessage.objects.claim(limit=10)) == 2
    OutboxMessage.objects.update(lease_until=Now() - timedelta(seconds=1))

    assert OutboxMessage.objects.recover() == 2

    young.refresh_from_db()
    old.refresh_from_db()
    assert (young.status, young.attempt_count) == (MessageStatus.RETRY, 1)
    assert (old.status, old.error_code) == (MessageStatus.FAILED, "WORKER_LOST")


@pytest.mark.django_db
def test_a_retry_by_an_operator_gets_every_attempt_again() -> None:
    message = make_message(attempt_count=MAX_ATTEMPTS - 1)
    OutboxMessage.objects.claim(limit=1)
    OutboxMessage.objects.filter(pk=message.pk).move("fail", **ERROR, **no_lease())

    assert OutboxMessage.objects.all().retry() == {message.pk}

    assert OutboxMessage.objects.filter(attempt_count=F("attempts_forgiven"), error_code="").count() == 1
    assert len(OutboxMessage.objects.claim(limit=1)) == 1
