"""What a worker does with alerts: claim, deliver, settle. They are retried on the schedule of webhooks."""

import json
import logging
import re
import smtplib
import time
from concurrent.futures import Future
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models.functions import Now

from kilit.access.encryption import DecryptionError
from kilit.lock.audit import acting_as
from kilit.lock.clock import database_time
from kilit.lock.outages import keep_trying
from kilit.outgoing.results import PostResult
from kilit.problems.registry import Severity
from kilit.workers.turns import work_in_turns
from outbox.alerts.addresses import new_service, shown_address
from outbox.alerts.making import BELL
from outbox.batches import Try
from outbox.errors import STORED_CAUSES, AlertError
from outbox.models import Attempt, Channel, OutboxMessage
from outbox.models.channel import ChannelKind
from outbox.settling import TRY_FOR, attempt_columns, settle_alike

TIMEOUT = 30.0  # seconds for everything; libraries have timeouts for a step only
STATUS = re.compile(r"error=(\d{3})")
ACTOR = "worker:alerts"
BATCH = 3  # three that take the longest time fit into the lease


# Special ones first: most are OSErrors, too.
CAUSES: dict[type[Exception], AlertError] = {
    DecryptionError: AlertError.ADDRESS_UNREADABLE,
    smtplib.SMTPAuthenticationError: AlertError.LOGIN_FAILED,
    smtplib.SMTPResponseException: AlertError.REJECTED,
    smtplib.SMTPRecipientsRefused: AlertError.REJECTED,
    TimeoutError: AlertError.TIMEOUT,
    OSError: AlertError.UNREACHABLE,
    Exception: AlertError.FAILED,
}


class DeliveryError(Exception):
    def __init__(self, error: AlertError, status: int | None = None) -> None:
        self.error, self.status = error, status


def deliver(channel: Channel, message: OutboxMessage, text: dict[str, object]) -> PostResult:
    """Send a message; a library that hangs is left behind in its thread."""
    started = time.monotonic()
    done: Future[None] = Future()

    def send() -> None:
        try:
            _send_now(channel, message, text)
            done.set_result(None)
        except Exception as error:  # noqa: BLE001 - libraries raise anything, and their texts may contain tokens
            done.set_exception(error)

    Thread(target=send, name="alert", daemon=True).start()
    try:
        done.result(TIMEOUT)
    except Exception as error:  # noqa: BLE001 - as above
        problem = _explain(error)
        return PostResult(time.monotonic() - started, problem.status, error=problem.error)
    return PostResult(time.monotonic() - started)


def _send_now(channel: Channel, message: OutboxMessage, text: dict[str, Any]) -> None:
    if channel.kind == ChannelKind.EMAIL:
        # The same on every attempt, so that mail programs recognise one that was sent twice.
        message_id = f"<{message.webhook_id}@{urlsplit(settings.PUBLIC_URL).hostname}>"
        mail = EmailMultiAlternatives(
            text["subject"],
            text["text"],
            to=[channel.address],
            headers={"Message-ID": message_id, "Auto-Submitted": "auto-generated"},
        )
        mail.attach_alternative(text["html"], "text/html")
        mail.send()
    else:
        _send_by_apprise(channel.address, text)


def _send_by_apprise(address: str, text: dict[str, object]) -> None:
    service = new_service(address)
    if service is None:
        raise DeliveryError(AlertError.ADDRESS_INVALID)
    import apprise

    # Its log may contain tokens: it is searched for the status, and goes nowhere else (config.settings.logs).
    with apprise.LogCapture(level=logging.WARNING) as log:
        sent = service.notify(
            title=text["subject"], body=text["text"], notify_type=_type(text), body_format=apprise.NotifyFormat.TEXT
        )
        code = STATUS.search(log.getvalue())
    if not sent:
        raise DeliveryError(AlertError.REJECTED if code else AlertError.UNREACHABLE, int(code[1]) if code else None)


def _type(text: dict[str, Any]) -> str:
    if text["is_over"]:
        return "success"
    return "failure" if text["severity"] >= Severity.SERIOUS else "warning" if text["severity"] > 1 else "info"


def _explain(error: Exception) -> DeliveryError:
    if isinstance(error, DeliveryError):
        return error
    cause = next(cause for kind, cause in CAUSES.items() if isinstance(error, kind))
    return DeliveryError(cause, getattr(error, "smtp_code", None))


def send_alerts() -> int:
    """Send the alerts that are due, for a few seconds; return how many were tried."""
    with acting_as(ACTOR):
        return work_in_turns(BELL, _send_some)


def _send_some() -> int | None:
    claimed = OutboxMessage.objects.claim_alerts(limit=BATCH)
    for message in claimed:
        _send(message)
    return len(claimed) or None


def _send(message: OutboxMessage) -> None:
    channel, started_at = Channel.objects.get(messages=message.pk), database_time()
    result = deliver(channel, message, json.loads(message.body))
    attempt = Try(message, started_at, {}, result)
    keep_trying(lambda: settle(channel, attempt), seconds=TRY_FOR, what=f"whether {channel} got it")


@transaction.atomic
def settle(channel: Channel, attempt: Try) -> None:
    sentence = STORED_CAUSES[attempt.result.error]
    if settle_alike([attempt.message], attempt.result, sentence):  # else another worker has it by now
        columns: dict[str, Any] = {"error": sentence} if sentence else {"error": "", "sent_at": Now()}
        Channel.objects.filter(pk=channel.pk).update(**columns)
    # Kept also if the lease ran out meanwhile: it was sent.
    Attempt.objects.insert([attempt_columns(attempt, shown_address(channel), sentence)])
