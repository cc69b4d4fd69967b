"""The lifecycle of a message, and when it is tried again."""

from dataclasses import replace
from datetime import timedelta

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.lock.table import Answer, By, Lifecycle, attempt_moves, move, report


class MessageStatus(TextChoices):
    QUEUED = "QUEUED"  # Is sent as soon as a worker is free.
    SENDING = "SENDING"  # A worker holds a lease and sends it.
    RETRY = "RETRY"  # The last attempt failed. It is sent again later.
    DELIVERED = "DELIVERED"  # The receiver accepted it.
    FAILED = "FAILED"  # Not delivered. It will not be retried automatically.


WAITING = (MessageStatus.QUEUED, MessageStatus.RETRY)
ENDED = (MessageStatus.DELIVERED, MessageStatus.FAILED)

ON, OFF = "on", "off"  # of an endpoint
SENDING_MOVES = attempt_moves(*WAITING, held=MessageStatus.SENDING, failed=MessageStatus.FAILED)

MESSAGES = Lifecycle(
    "message",
    states=MessageStatus,
    initial=[MessageStatus.QUEUED],
    waiting=WAITING,
    held=[MessageStatus.SENDING],
    done=[MessageStatus.DELIVERED],
    failed=[MessageStatus.FAILED],
    by_hand={"mark_failed": "MARKED_FAILED"},
    labels={
        MessageStatus.SENDING: _("Being sent"),
        MessageStatus.RETRY: _("Waiting to retry"),
        MessageStatus.DELIVERED: _("Delivered"),
    },
    # Receivers recognise a message by its id.
    known_by="webhook-id",
    moves={
        **SENDING_MOVES,
        "claim": replace(SENDING_MOVES["claim"], beside={"endpoint": (ON,)}),
        "deliver": report(MessageStatus.SENDING, to=MessageStatus.DELIVERED, after=Answer.YES),
        # It was claimed and not sent: its endpoint has become slow, or wants no messages now. That is no attempt.
        "release": report(MessageStatus.SENDING, to=MessageStatus.RETRY, sets={"spent": False}),
        # It waited too long for an endpoint that is switched off.
        "expire": move(*WAITING, to=MessageStatus.FAILED, by=By.SWEEP, beside={"endpoint": (OFF,)}),
        # Operators.
        "send_now": move(MessageStatus.RETRY, to=MessageStatus.QUEUED, by=By.OPERATOR),
        "replay": move(*ENDED, to=MessageStatus.QUEUED, by=By.OPERATOR, sets={"spent": False}),
    },
)

# The waits between attempts, as Standard Webhooks suggests them; after the last attempt a message fails.
RETRY_AFTER = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
# Longer than all waits together, with their jitter: no message that is being tried is older.
EXPIRES_AFTER = timedelta(days=4)
# An endpoint that has failed for this long is switched off.
SWITCH_OFF_AFTER = timedelta(days=3)
