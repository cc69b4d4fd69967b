"""Scheduled tasks of the outbox."""

import time
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from kilit.lock import pruning
from kilit.lock.audit import for_reason
from kilit.workers import doorbells
from outbox.models import Attempt, OutboxMessage
from outbox.models.message import OutboxMessageQuerySet
from outbox.states import MESSAGES, MessageStatus

BATCH = 5_000


def recover() -> str:
    recovered, expired = OutboxMessage.objects.recover(), OutboxMessage.objects.expire()
    if recovered:
        doorbells.ring(MESSAGES.queue)
    return f"Recovered {recovered}, expired {expired}."


def unfinished() -> list[OutboxMessageQuerySet]:
    """Return messages among which `recover` may find some."""
    messages = OutboxMessage.objects.all()
    return [messages.filter(status=MessageStatus.SENDING), messages.waiting()]


def prune() -> str:
    """Delete messages that ended before the retention period, and attempts, for about a minute each."""
    age = timedelta(days=settings.KEEP_MESSAGES_DAYS)
    with for_reason(f"finished more than {age.days} days ago"):
        deleted = pruning.prune(older_than=age, queues=[MESSAGES.queue], seconds=pruning.SWEEP_SECONDS)
    return f"{pruning.summary(deleted)} Deleted {delete_attempts(older_than=age):,} attempts."


def delete_attempts(*, older_than: timedelta) -> int:
    total, end = 0, time.monotonic() + pruning.SWEEP_SECONDS
    old = Attempt.objects.filter(started_at__lt=Now() - older_than).order_by("started_at").values("pk")
    while time.monotonic() < end:
        deleted = Attempt.objects.filter(pk__in=old[:BATCH]).delete()[0]
        total += deleted
        if deleted < BATCH:
            break
    return total
