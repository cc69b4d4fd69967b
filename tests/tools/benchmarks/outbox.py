"""Delivering webhooks to a receiver on this machine, claimed and settled, against a bare loop of signed posts."""

import ipaddress
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
from django.conf import settings
from standardwebhooks import Webhook

from outbox.models import Endpoint, OutboxMessage
from outbox.sending import send_due
from outbox.states import MessageStatus
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.faulty_receiver import deliver_in_spite_of_faults
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.servers import ROOT

MESSAGES = 3_000
MANY = 10_000
BODY = (
    '{"type":"conversion.completed","timestamp":"2026-11-16T12:00:00Z","data":{"id":"0190a5c2-7d0e-7a31-9a65-0d5d1a3f2b11",'
    '"siteId":"shop","orderId":"A-1001","state":"COMPLETED","attempts":1,"completedAt":"2026-11-16T12:00:00Z"}}'
)


class Bench:
    """What the sides share while they run."""

    secret: str
    url: str
    endpoint: Endpoint


@contextmanager
def receiver() -> Iterator[None]:
    """Start the receiver in a process of its own, and make an endpoint for it."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request would slow it down
    Bench.endpoint = Endpoint(description="bench")
    Bench.secret = Bench.endpoint.make_secret()
    command = [sys.executable, "-m", "simulators.webhooks"]
    environment = os.environ | {"WEBHOOK_SECRETS": Bench.secret}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        try:
            assert process.stdout
            Bench.url = process.stdout.readline().split()[-1]
            settings.WEBHOOK_PRIVATE_ADDRESSES = [ipaddress.ip_network("127.0.0.1")]
            Bench.endpoint.url = Bench.url
            Bench.endpoint.save()
            yield
            counts = httpx.get(Bench.url).json()
            assert counts.get("accepted") == counts.get("received"), f"not every message was accepted: {counts}"
        finally:
            process.terminate()


def ours() -> float:
    rows = [OutboxMessage(endpoint=Bench.endpoint, kind="conversion.completed", body=BODY) for _ in range(MESSAGES)]
    OutboxMessage.objects.bulk_create(rows)
    start = time.perf_counter()
    while OutboxMessage.objects.waiting().exists():
        send_due()
    taken = time.perf_counter() - start
    assert not OutboxMessage.objects.exclude(status=MessageStatus.DELIVERED).exists()
    return MESSAGES / taken


def bare() -> float:
    signer = Webhook(Bench.secret)
    with httpx.Client() as client:
        start = time.perf_counter()
        for number in range(MESSAGES):
            name, now = f"msg_{number}", datetime.now(UTC)
            headers = {
                "content-type": "application/json",
                "webhook-id": name,
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": signer.sign(name, now, BODY),
            }
            assert client.post(Bench.url, content=BODY, headers=headers).is_success
        return MESSAGES / (time.perf_counter() - start)


def in_spite_of_faults() -> float:
    """Send to a receiver that fails at random, is stopped and slow; every id must be accepted in the end."""
    faulty = WebhookReceiver([]).start()
    endpoint = Endpoint(url=f"{faulty.url}/hook", description="faulty")
    faulty.trust(endpoint.make_secret())
    endpoint.save()
    start = time.perf_counter()
    deliver_in_spite_of_faults(faulty, endpoint, MANY)
    taken = time.perf_counter() - start
    faulty.stop()
    return MANY / taken


FIGURES = [
    Figure(
        "outbox",
        "messages/s",
        ours,
        bare,
        against="a bare loop of httpx posts over one connection, with the same signature",
        at_least=0.5,
        on=receiver,
    ),
    Figure("outbox_faults", "messages/s", in_spite_of_faults, on=receiver, rounds=1, warm=False),
]
