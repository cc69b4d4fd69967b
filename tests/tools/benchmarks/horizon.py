"""Draining beside a transaction that someone left open: PostgreSQL removes no old row version meanwhile."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from kilit.database.sql import execute, read_rows
from tests.tools.benchmarks import drain
from tests.tools.benchmarks.harness import Figure, scope

LOAD = 5  # times the rows of a drain; the last one is measured
DEAD = "SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE n_dead_tup > 1000 ORDER BY n_dead_tup DESC"


class Bench:
    holder: "psycopg.Connection[Any]"
    after: float


@contextmanager
def served() -> Iterator[None]:
    with drain.served(), psycopg.connect(drain.Bench.bare.info.dsn) as Bench.holder:
        yield


def beside() -> float:
    """Open a snapshot, as a report or a forgotten psql does, and drain beside it; then close it, and drain again."""
    Bench.holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    Bench.holder.execute("SELECT count(*) FROM ociqueue_site")
    rates = [drain.drain() for _ in range(LOAD)]
    dead = ", ".join(f"{number:,} of {table}" for table, number in read_rows(DEAD))
    Bench.holder.rollback()
    start = time.perf_counter()
    execute("VACUUM")  # as autovacuum does, within a minute
    cleaned = time.perf_counter() - start
    Bench.after = drain.drain()
    each = ", ".join(f"{rate:,.0f}" for rate in rates)
    scope.note(f"`oci_drain_beside_snapshot`: {each} rows/s one after the other; dead rows: {dead}; {cleaned:.1f} s")
    return rates[-1]


def after() -> float:
    return Bench.after


def without() -> float:
    return [drain.drain() for _ in range(LOAD)][-1]


FIGURES = [
    Figure(
        "oci_drain_beside_snapshot",
        "rows/s",
        beside,
        without,
        against="the same without the snapshot",
        on=served,
        rounds=3,
        warm=False,
    ),
    Figure(
        "oci_drain_after_snapshot",
        "rows/s",
        after,
        without,
        against="the same without a snapshot before",
        on=served,
        rounds=3,
        warm=False,
    ),
]
