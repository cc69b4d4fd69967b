"""A reader of the event log that is killed at any point loses no event and reports none twice."""

import signal

import pytest

from kilit.api.webhooks import webhook_kinds
from outbox import log_reader
from outbox.models import OutboxMessage
from tests.apps.parcels.models import Parcel
from tests.support.killed_process import die, die_after, fork
from tests.support.outbox import PARCEL_CARRIED, make_endpoint

pytestmark = pytest.mark.django_db(transaction=True)


POINTS = {
    "before it reads": lambda: ("_settle", die),
    "before it stores messages": lambda: ("bulk_insert", die),
    "before it commits": lambda: ("_make_messages", die_after(log_reader._make_messages)),
    "after it committed": lambda: ("_read_span", die_after(log_reader._read_span)),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_reader_killed_at_any_point_resumes_where_it_stopped(point: str, monkeypatch) -> None:
    monkeypatch.setitem(webhook_kinds, PARCEL_CARRIED.name, PARCEL_CARRIED)
    make_endpoint()
    Parcel.objects.bulk_create(Parcel() for _ in range(20))
    Parcel.objects.claim(limit=20)

    assert fork(log_reader.read_log, log_reader, *POINTS[point]()) == -signal.SIGKILL
    while log_reader.read_log():
        pass

    reported = list(OutboxMessage.objects.order_by("object_id").values_list("object_id", flat=True))
    assert reported == sorted(Parcel.objects.values_list("pk", flat=True))
