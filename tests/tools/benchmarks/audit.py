"""An audit of the whole log, beside a plain read of the same events in their order."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psutil import Process

from kilit.audit.run import audit, sentence
from kilit.lock.models import Event
from ociqueue.models import Site
from tests.tools.benchmarks.crowd import crowd
from tests.tools.benchmarks.flat import on_copy
from tests.tools.benchmarks.harness import Figure, scope

DATABASE = "bench_audit"
READ_AT_ONCE = 10_000
EVENTS = Event.objects.order_by("id").values_list(
    "id", "queue", "object_id", "event_type", "from_state", "to_state", "actor", "details", "created_at"
)


@contextmanager
def past() -> Iterator[None]:
    """Give a database of its own as many finished conversions as there is time for, with three events each."""
    with on_copy(DATABASE):
        crowd(Site.objects.create(name="Audit", default_currency="TRY"), 10_000_000 if scope.full else 200_000)
        yield


def audited() -> float:
    process, start = Process(), time.perf_counter()
    record = audit(full=True)
    seconds = time.perf_counter() - start
    assert not record.breach_count, record.breaches[:3]
    megabytes = process.memory_info().rss / 1e6
    scope.note(f"`audit`: {sentence(record)} {seconds:.0f} s; the process held {megabytes:.0f} MB at its end.")
    return record.moves / seconds


def read() -> float:
    """Read every event as an audit would have to, and do nothing with it."""
    start = time.perf_counter()
    number = sum(1 for _ in EVENTS.iterator(READ_AT_ONCE))
    connection.close()
    return number / (time.perf_counter() - start)


FIGURES = [
    Figure(
        "audit",
        "events/s",
        audited,
        read,
        against="reading the same events in their order, without looking at them",
        on=past,
        rounds=1,
        warm=False,
    )
]
