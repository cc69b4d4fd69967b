"""When a message is tried again: after the waits of the schedule, or later if its receiver asks for it."""

from datetime import timedelta

from django.db.models import DurationField, Func, Value
from django.db.models.functions import Greatest, Now

from kilit.outgoing.results import PostResult
from outbox.models import OutboxMessage
from outbox.states import RETRY_AFTER

# Receivers that ask for longer waits are tried after this.
LONGEST_WAIT = timedelta(hours=24)
ASK_TO_WAIT = (429, 503)


class Jittered(Func):
    """A wait of some seconds, each row's up to a fifth longer, so that messages that failed together spread out."""

    template = "make_interval(secs => %(expressions)s * (1 + 0.2 * random()))"
    output_field = DurationField()


def wait_of(message: OutboxMessage) -> timedelta | None:
    """Return how long a message waits after its attempt has failed; None if that was the last one."""
    number = message.attempt_count - message.attempts_forgiven
    return RETRY_AFTER[number - 1] if number <= len(RETRY_AFTER) else None


def requested_wait(result: PostResult) -> timedelta | None:
    """Return how long the receiver wants no messages, as its header Retry-After says."""
    if result.status not in ASK_TO_WAIT or result.retry_after is None:
        return None
    return min(timedelta(seconds=result.retry_after), LONGEST_WAIT)


def next_try(wait: timedelta, requested: timedelta | None) -> object:
    scheduled = Now() + Jittered(Value(wait.total_seconds()))
    return scheduled if requested is None else Greatest(scheduled, Now() + requested)
