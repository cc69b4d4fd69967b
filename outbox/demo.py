"""Demo data: an endpoint at the simulated receiver, which `manage.py up` starts, and one whose messages failed."""

import json
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from kilit.api.webhooks import webhook_kinds
from kilit.lock.audit import acting_as
from kilit.lock.leases import new_lease, no_lease
from kilit.outgoing.results import PostError
from outbox.errors import STORED_CAUSES
from outbox.log_reader import webhook_body
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason

DESCRIPTION, FAILED_DESCRIPTION = "Demo receiver", "Warehouse (demo)"
KINDS = ["conversion.completed", "conversion.failed"]
FAILED, DELIVERED = 4, 2  # messages
OFF_FOR = timedelta(hours=5)


def load_demo(url: str) -> list[str]:
    """Send every kind of webhook to this address; return the secrets that its receiver verifies them with."""
    endpoint, is_new = Endpoint.objects.get_or_create(
        description=DESCRIPTION, scope="", defaults={"url": url, "kinds": sorted(webhook_kinds)}
    )
    if not is_new:  # the receiver has another port each time
        Endpoint.objects.filter(pk=endpoint.pk).update(url=url)
    return endpoint.secrets(datetime.now(UTC))


def private_addresses() -> str:
    """Return the value of KILIT_WEBHOOK_PRIVATE_ADDRESSES that also allows this machine."""
    return ",".join([*(str(network) for network in settings.WEBHOOK_PRIVATE_ADDRESSES), "127.0.0.1", "::1"])


def load_failed_messages() -> None:
    """Create once an endpoint that was switched off; its host does not exist, and nothing is sent."""
    if Endpoint.objects.filter(description=FAILED_DESCRIPTION).exists():
        return
    with acting_as("demo"):
        endpoint = Endpoint.objects.create(
            url="https://warehouse.invalid/kilit?tenant=7",
            kinds=KINDS,
            description=FAILED_DESCRIPTION,
            is_on=False,
            off_reason=OffReason.FAILING,
            off_at=timezone.now() - OFF_FOR,
        )
        for number in range(FAILED + DELIVERED + 1):
            kind = webhook_kinds[KINDS[number % len(KINDS)]]
            body = webhook_body(kind.name, timezone.now(), kind.example)
            message = OutboxMessage.objects.create(endpoint=endpoint, kind=kind.name, body=body)
            if number < FAILED + DELIVERED:  # the last one waits
                end(message, is_delivered=number < DELIVERED)


def end(message: OutboxMessage, *, is_delivered: bool) -> None:
    """Let a message be delivered or fail, as a worker does, without sending anything."""
    error = "" if is_delivered else PostError.HTTP_5XX
    status = 200 if is_delivered else 503
    own_row = OutboxMessage.objects.filter(pk=message.pk)
    own_row.move("claim", attempt_count=1, **new_lease(OutboxMessage.lease_length))
    if is_delivered:
        own_row.move("deliver", response_code=status, delivered_at=Now(), **no_lease())
    else:
        cause = STORED_CAUSES[error]
        own_row.move("fail", response_code=status, error_code=error, error_message=cause, **no_lease())
    Attempt.objects.create(
        message_id=message.pk,
        number=1,
        seconds=0.21,
        url=message.shown_address,
        request_headers={"content-type": "application/json", "webhook-id": message.webhook_id},
        response_code=status,
        answer="" if is_delivered else json.dumps({"message": "Maintenance until Monday"}),
        error_code=error,
        error_message="" if is_delivered else "503 Service Unavailable",
    )
