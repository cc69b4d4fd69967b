"""What the guards cost: claim and finish in pages, with every trigger on, against bare statements on a bare table."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from kilit.lock.leases import no_lease
from tests.apps.parcels.models import Parcel
from tests.tools.benchmarks.harness import Figure

ROWS = 10_000
PAGE = 1_000

BARE_CLAIM = """
    WITH picked AS MATERIALIZED (
      SELECT id AS picked_id FROM bare_parcel WHERE status = 'WAITING'
      ORDER BY created_at, id LIMIT %s FOR UPDATE SKIP LOCKED
    )
    UPDATE bare_parcel SET status = 'CARRIED', updated_at = now(), attempt_count = attempt_count + 1,
      claim_token = gen_random_uuid(), lease_until = now() + interval '8 seconds'
    WHERE id = ANY(ARRAY(SELECT picked_id FROM picked)) RETURNING *
"""
BARE_DELIVER = """
    UPDATE bare_parcel SET status = 'DELIVERED', updated_at = now(), claim_token = NULL, lease_until = NULL
    WHERE status = 'CARRIED' AND id = ANY(%s)
"""


@contextmanager
def bare_table() -> Iterator[None]:
    """Make a copy of the table with its indexes and constraints, and without its triggers."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bare_parcel (LIKE parcels_parcel INCLUDING ALL)")
    yield


def ours() -> float:
    """Drain through the guard."""
    Parcel.objects.bulk_create((Parcel() for _ in range(ROWS)), batch_size=5_000)
    start = time.perf_counter()
    while claimed := Parcel.objects.claim(limit=PAGE):
        Parcel.objects.filter(pk__any_of=[parcel.pk for parcel in claimed]).move("deliver", **no_lease())
    return ROWS / (time.perf_counter() - start)


def bare() -> float:
    """Drain with the same two statements and nothing else."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO bare_parcel (id, status, depot, attempt_count, work)"
            " SELECT gen_random_uuid(), 'WAITING', '', 0, 0 FROM generate_series(1, %s)",
            [ROWS],
        )
        start = time.perf_counter()
        while True:
            cursor.execute(BARE_CLAIM, [PAGE])
            claimed = cursor.fetchall()
            if not claimed:
                return ROWS / (time.perf_counter() - start)
            cursor.execute(BARE_DELIVER, [[row[0] for row in claimed]])


FIGURES = [
    Figure(
        "lock_drain",
        "rows/s",
        ours,
        bare,
        against="the same two statements on a bare copy of the table",
        on=bare_table,
    )
]
