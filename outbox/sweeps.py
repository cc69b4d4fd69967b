"""Scheduled tasks of the outbox, and which messages may be pruned."""

from collections.abc import Iterable

from outbox.models import OutboxMessage
from outbox.models.message import OutboxMessageQuerySet
from outbox.states import ENDED


def recover() -> str:
    recovered, expired = OutboxMessage.objects.recover(), OutboxMessage.objects.expire()
    return f"Recovered {recovered}, expired {expired}."


def finished() -> Iterable[OutboxMessageQuerySet]:
    """Return the messages that may be pruned, a queryset for each state: each follows an index in the order of ids."""
    return [OutboxMessage.objects.filter(status=status) for status in ENDED]
