"""What a worker does with alerts: claim, deliver, settle. The schedule of retries is that of webhooks."""

import json
import time
from copy import copy

from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.lock.clock import database_time
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import no_lease
from kilit.lock.outages import keep_trying
from kilit.workers import doorbells
from outbox.alerts.addresses import shown_address
from outbox.alerts.delivery import Delivery, deliver
from outbox.alerts.making import BELL
from outbox.models import Attempt, Channel, OutboxMessage
from outbox.retrying import next_try, wait_of
from outbox.settling import TRY_FOR

ACTOR = "worker:alerts"
TURN = 10.0  # seconds; then other tasks get their turn
BATCH = 3  # three that take the longest time fit into the lease


def is_due() -> bool:
    return OutboxMessage.objects.claimable_alerts().exists()


def send_alerts() -> int:
    """Send the alerts that are due, for a few seconds; return how many were tried."""
    tried, end = 0, time.monotonic() + TURN
    with acting_as(ACTOR):
        while time.monotonic() < end:
            claimed = OutboxMessage.objects.claim_alerts(limit=BATCH)
            if not claimed:
                return tried
            for message in claimed:
                _send(message)
            tried += len(claimed)
    if is_due():
        doorbells.ring_now(BELL)
    return tried


def _send(message: OutboxMessage) -> None:
    channel, started_at = Channel.objects.get(messages=message.pk), database_time()
    result = deliver(channel, message, json.loads(message.body))
    attempt = {
        "message_id": message.pk,
        "number": message.attempt_count,
        "started_at": started_at,
        "seconds": result.seconds,
        "url": shown_address(channel),
        "request_headers": {},
        "response_code": result.status,
        "answer": "",
        "error_code": result.error or "",
        "error_message": str(result.error.label) if result.error else "",
    }
    keep_trying(lambda: _store(channel, message, result, attempt), seconds=TRY_FOR, what=f"whether {channel} got it")


def _store(channel: Channel, message: OutboxMessage, result: Delivery, attempt: dict[str, object]) -> None:
    with transaction.atomic():
        # A copy, since a move changes the object: with a commit that was lost, the next try needs the claim again.
        _settle(channel, copy(message), result)
        # Kept also if the lease ran out meanwhile: it was sent.
        Attempt.objects.insert([attempt])


def _settle(channel: Channel, message: OutboxMessage, result: Delivery) -> None:
    error = {
        "error_code": result.error or "",
        "error_message": result.error.label if result.error else "",
        "response_code": result.status,
    }
    verb, changes = _verb(message, result)
    try:
        message.move_held(verb, **error, **changes, **no_lease())
    except MoveRefused:
        return  # another worker has it by now
    noted: dict[str, object] = {"error": error["error_message"]} if result.error else {"error": "", "sent_at": Now()}
    Channel.objects.filter(pk=channel.pk).update(**noted)


def _verb(message: OutboxMessage, result: Delivery) -> tuple[str, dict[str, object]]:
    if result.error is None:
        return "deliver", {"delivered_at": Now()}
    wait = wait_of(message)
    return ("fail", {}) if wait is None else ("retry_later", {"next_try_at": next_try(wait, None)})
