"""Conversions are acknowledged, at night ten thousand; a receiver that fails at random gets a message about each."""

import pytest

from kilit.lock.models import Event
from kilit.workers.doorbells import doorbells
from ociqueue.models import Conversion, Site
from ociqueue.script import acknowledge
from outbox import log_reader, sending
from outbox.models import Endpoint, OutboxMessage
from outbox.states import MessageStatus
from tests.support.fixtures.outbox import endpoint
from tests.support.outbox import ask_receiver, make_all_due
from tests.support.waiting import wait_until
from tests.tools.benchmarks.conversions import fill

__all__ = ["endpoint"]

PAGE = 400


@pytest.mark.django_db
@pytest.mark.parametrize("conversions", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_each_acknowledged_conversion_is_delivered_under_one_id(endpoint: Endpoint, conversions: int) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(kinds=["conversion.completed"])
    site = Site.objects.create(name="Shop", default_currency="TRY")
    fill(Conversion._meta.db_table, site, conversions)
    ask_receiver(endpoint, "/control", status=500, rate=0.05)

    while claimed := Conversion.objects.for_site(site).claim(limit=PAGE):
        acknowledge.ack(site, [row.pk for row in claimed])
    wait_until(lambda: not doorbells[log_reader.BELL].is_due() or log_reader.read_log() < 0)
    wait_until(lambda: not doorbells[sending.BELL].is_due() or sending.send_due())
    ask_receiver(endpoint, "/control", status=200)
    make_all_due()
    wait_until(lambda: not doorbells[sending.BELL].is_due() or sending.send_due())

    completed = Event.objects.filter(event_type="STATE_COMPLETED").values_list("pk", flat=True)
    assert set(OutboxMessage.objects.values_list("event_id", flat=True)) == set(completed)
    assert OutboxMessage.objects.filter(status=MessageStatus.DELIVERED).count() == conversions
    assert ask_receiver(endpoint, "/ids") == {
        f"msg_{pk.hex}": 1 for pk in OutboxMessage.objects.values_list("pk", flat=True)
    }
    counts = ask_receiver(endpoint)
    assert counts["failed"] > 0
    assert not counts.keys() & {"invalid", "changed"}
