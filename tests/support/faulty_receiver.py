"""Messages to a receiver that fails at random, is stopped while they are on their way, and is slow."""

import threading

from outbox import sending
from outbox.models import Endpoint, OutboxMessage
from outbox.states import MessageStatus
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.outbox import make_all_due, queue_messages
from tests.support.waiting import wait_until

FAULTS = (
    {"status": 500, "rate": 0.5},
    {"closes": True, "rate": 0.3},
    {"status": 503, "rate": 0.2, "retry_after": "30"},
)


def deliver_in_spite_of_faults(receiver: WebhookReceiver, endpoint: Endpoint, number: int) -> None:
    """Send that many messages; each id must be accepted, with a valid signature, and the same bytes each time."""
    ids = {message.webhook_id for message in queue_messages(endpoint, number)}
    receiver.behave(status=500, rate=0.5)
    stopping = stop_after(receiver, number // 4)
    while stopping.is_alive():  # on a slow machine a turn ends before
        sending.send_due()
        make_all_due()
    receiver.start()  # on the same port
    for fault in FAULTS:
        make_all_due()
        receiver.behave(**fault)
        sending.send_due()
        Endpoint.objects.update(wait_until=None)  # the time that it asked for has passed
    receiver.behave(delay=0.01)
    while make_all_due():
        sending.send_due()

    counts = receiver.counts["/hook"]
    assert set(receiver.accepted) == ids
    assert counts["accepted"] - counts["repeated"] == number
    assert counts["repeated"] <= sending.THREADS  # accepted, and the answer was lost when the receiver was stopped
    assert (counts["invalid"], counts["changed"]) == (0, 0)
    assert counts["failed"] > number / 4
    assert OutboxMessage.objects.filter(endpoint=endpoint, status=MessageStatus.DELIVERED).count() == number


def stop_after(receiver: WebhookReceiver, number: int) -> threading.Thread:
    """Stop the receiver, with every connection, when it has received so many messages."""

    def stop() -> None:
        wait_until(lambda: receiver.counts["/hook"]["received"] >= number, every=0.01)
        receiver.stop()

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    return thread
