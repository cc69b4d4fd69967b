"""Stores how the attempts of a batch ended: in its messages, in attempts for the console, and in the endpoint.

Each update matches the batch's claim, so a worker that lost its lease changes no message.
"""

from collections import defaultdict
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from kilit.lock.text import strip_control_chars
from kilit.outgoing.results import PostError, PostResult
from outbox.batches import SIGNATURE, MessageBatch, Try
from outbox.errors import STORED_CAUSES
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.attempt import LONGEST_ANSWER
from outbox.models.endpoint import OffReason
from outbox.states import SWITCH_OFF_AFTER

LONGEST_ERROR = 500
# A turn of 10 s, the longest attempt of 15 s and this fit into a worker's task, and into the lease.
TRY_FOR = 30.0  # seconds


def settle(batch: MessageBatch) -> None:
    """Store what happened to each message of a batch, and what that says about its endpoint. It may be repeated."""
    groups: dict[object, list[Try]] = defaultdict(list)
    for attempt in batch.tries:
        result = attempt.result
        groups[result.status, result.error, result.requested_wait, bool(attempt.message.url)].append(attempt)
    with transaction.atomic():
        for tries in groups.values():
            result = tries[0].result
            settle_alike([attempt.message for attempt in tries], result, STORED_CAUSES[result.error])
        if batch.unsent:
            again = {"attempts_forgiven": F("attempts_forgiven") + 1, "next_try_at": Now()}
            OutboxMessage.objects.held_by(*batch.unsent).settle("release", **again)
        Attempt.objects.insert([_attempt(batch, attempt) for attempt in batch.tries])
        _note_endpoint(batch)


def settle_alike(messages: list[OutboxMessage], result: PostResult, sentence: str) -> int:
    held = OutboxMessage.objects.held_by(*messages)
    columns = {
        "response_code": result.status,
        "error_code": result.error,
        "error_message": sentence,
    }
    if result.is_delivered:
        return held.settle("deliver", delivered_at=Now(), **columns)
    if messages[0].url and result.error == PostError.GONE:
        # A callback's own address is gone for good; an endpoint may be switched on again.
        return held.settle("fail", **columns)
    return held.retry_later(wait_at_least=result.requested_wait or timedelta(0), **columns)


def _attempt(batch: MessageBatch, attempt: Try) -> dict[str, object]:
    own_url = attempt.message.url
    url = (Endpoint(url=own_url) if own_url else batch.endpoint).shown_url
    return attempt_columns(attempt, url, STORED_CAUSES[attempt.result.error])


def attempt_columns(attempt: Try, url: str, sentence: str) -> dict[str, object]:
    result = attempt.result
    return {
        "message_id": attempt.message.pk,
        "number": attempt.message.attempt_count,
        "started_at": attempt.started_at,
        "seconds": result.seconds,
        "url": url,
        "request_headers": {name: value for name, value in attempt.headers.items() if name != SIGNATURE},
        "response_code": result.status,
        "answer": strip_control_chars(result.answer[:LONGEST_ANSWER]),
        "error_code": result.error,
        "error_message": strip_control_chars(result.detail or sentence)[:LONGEST_ERROR],
    }


def _note_endpoint(batch: MessageBatch) -> None:
    """Note whether the endpoint works, and switch it off if it is gone or has failed for long.

    Callbacks go to addresses of their own, so they say nothing about the endpoint's.
    """
    results: list[PostResult] = [attempt.result for attempt in batch.tries if not attempt.message.url]
    if not results:
        return
    # Not if its address was corrected meanwhile: nothing is known of the new one.
    own_row, last = Endpoint.objects.filter(pk=batch.endpoint.pk, url=batch.endpoint.url), results[-1]
    if last.is_delivered:
        # Without a failure that this worker knows of there is nothing to clear, as mostly.
        if batch.endpoint.failing_since is not None or not all(result.is_delivered for result in results):
            own_row.filter(failing_since__isnull=False).update(failing_since=None)
        return
    own_row.filter(failing_since=None).update(failing_since=Now())
    if requested := last.requested_wait:
        own_row.update(wait_until=Now() + requested)
    if last.error == PostError.GONE:
        own_row.switch_off(OffReason.GONE)
    own_row.filter(failing_since__lt=Now() - SWITCH_OFF_AFTER).switch_off(OffReason.FAILING)
