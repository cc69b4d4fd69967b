"""Draining while an endpoint listens: a worker makes a message of each acknowledged conversion, at the same time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from tests.support.waiting import wait_until
from tests.tools.benchmarks import drain
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.servers import started

READER = """
import django, time
django.setup()
from outbox import log_reader
while True:
    log_reader.read_log()
    time.sleep(1)  # as often as a supervisor looks
"""


@contextmanager
def served() -> Iterator[None]:
    """Serve, with a reader of the event log in a process of its own, and an endpoint that is off."""
    with drain.served(), started(["-c", READER]):
        Endpoint.objects.create(url="https://receiver.example/", kinds=["conversion.completed"])
        yield


def with_subscriber() -> float:
    """Drain while messages are made; wait afterwards until there is one for each row, which is not measured."""
    Endpoint.objects.all().switch_on()
    before = OutboxMessage.objects.count()
    taken = drain.drain()
    during = OutboxMessage.objects.count() - before
    wait_until(lambda: OutboxMessage.objects.count() == before + drain.ROWS)
    sys.stderr.write(f"bench: {during:,} of {drain.ROWS:,} messages were made while rows were drained\n")
    return taken


def without_subscriber() -> float:
    """Drain without an endpoint."""
    Endpoint.objects.all().switch_off(OffReason.OPERATOR)
    return drain.drain()


FIGURES = [
    Figure(
        "oci_drain_subscribed",
        "rows/s",
        with_subscriber,
        without_subscriber,
        against="the same without an endpoint",
        at_least=0.9,
        on=served,
    ),
]
