"""What is done with endpoints in the console and by API, and what other apps may know about them."""

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from kilit.api.webhooks import TEST, EndpointTestData
from kilit.lock.clock import database_time
from kilit.lock.models import Activity, ActivityKind
from kilit.workers import doorbells
from outbox.log_reader import webhook_body
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MESSAGES


def callback_hosts(user: User | AnonymousUser) -> frozenset[str]:
    return frozenset(endpoint.host for endpoint in Endpoint.objects.usable_by(user))


def send_test(endpoint: Endpoint) -> OutboxMessage:
    """Queue a test message; it waits while the endpoint is off."""
    data: EndpointTestData = {"endpoint_id": str(endpoint.pk)}
    with transaction.atomic():
        message = OutboxMessage.objects.create(
            endpoint=endpoint, kind=TEST, scope=endpoint.scope, body=webhook_body(TEST, database_time(), data)
        )
        doorbells.ring(MESSAGES.queue)
    return message


@transaction.atomic
def switch(endpoint: Endpoint, *, on: bool, why: str) -> bool:
    """Switch an endpoint on or off, with its record; return whether that changed anything."""
    own_row = Endpoint.objects.filter(pk=endpoint.pk)
    is_changed = own_row.switch_on() if on else own_row.switch_off(OffReason.OPERATOR)
    if is_changed:
        record_change(endpoint, "changed", f"Switched {'on' if on else 'off'}{why}")
    if is_changed and on:
        doorbells.ring(MESSAGES.queue)
    return bool(is_changed)


def record_change(
    endpoint: Endpoint, verb: str, message: str = "", *, kind: ActivityKind = ActivityKind.SETTINGS
) -> None:
    """Record a change in the activity, for those who see the endpoint's site; values, which may be secret, are not."""
    Activity.objects.record(
        kind,
        verb,
        model=Endpoint._meta.label_lower,
        scope=endpoint.scope,
        object_id=str(endpoint.pk),
        object_name=str(endpoint),
        message=message,
    )
