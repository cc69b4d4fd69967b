"""Draining through HTTP: export and acknowledge in pages, against the same two statements with nothing around them."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
from django.db import connection

from ociqueue.models import Conversion, Site
from tests.tools.benchmarks.conversions import BARE, CLAIM_RETURNING, fill, make_bare_table
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.peers.running import drain_django_q2, drain_procrastinate, running
from tests.tools.benchmarks.servers import Web, web

ROWS = 20_000
PAGE = 1_000

CLAIM = f"{CLAIM_RETURNING} id, order_id, gclid, wbraid, gbraid, action, conversion_time, value, currency"
ACK = f"""
    UPDATE {BARE} SET status = 'COMPLETED', updated_at = now(), last_error = '', provider_error_code = '',
      provider_error_category = ''
    WHERE site_id = %s AND status = 'PROCESSING' AND id = ANY(%s)
"""


class Bench:
    """What the sides share while they run."""

    site: Site
    clients: list[Web]
    bare: "psycopg.Connection[tuple[object, ...]]"


@contextmanager
def served() -> Iterator[None]:
    """Start one web process, and make the bare table."""
    make_bare_table()
    Bench.site = Site.objects.create(name="Drain", default_currency="TRY")
    key = Bench.site.issue_key(name="bench")
    params = connection.get_connection_params()
    address = {name: params[name] for name in ("host", "port", "user", "dbname") if params.get(name)}
    with web() as server, psycopg.connect(**address, autocommit=True) as Bench.bare:
        Bench.clients = [server.with_headers(x_api_key=key) for _ in range(2)]
        yield


def drain() -> float:
    """Hand out and acknowledge until nothing is left, by one client."""
    return _drained_by(Bench.clients[:1])


def drain_by_two() -> float:
    """The same by two clients at once: both peers have two workers."""
    return _drained_by(Bench.clients)


def _drained_by(clients: list[Web]) -> float:
    fill(Conversion._meta.db_table, Bench.site, ROWS)
    with ThreadPoolExecutor(len(clients)) as pool:
        start = time.perf_counter()
        done = sum(pool.map(take_pages, clients))
        taken = time.perf_counter() - start
    assert done == ROWS, f"drained {done} of {ROWS}"
    return ROWS / taken


def take_pages(client: Web) -> int:
    """Return how many rows this client acknowledged until there were no more."""
    name = Bench.site.public_id
    export = f"/api/oci/google-ads-export?siteId={name}&markAsExported=true&limit={PAGE}"
    done = 0
    while items := client.get(export):
        answer = client.post("/api/oci/ack", {"siteId": name, "queueIds": [item["id"] for item in items]})
        done += answer["updated"]
    return done


def bare() -> float:
    """Do the same with the two statements alone."""
    fill(BARE, Bench.site, ROWS)
    done = 0
    start = time.perf_counter()
    while claimed := Bench.bare.execute(CLAIM, [Bench.site.pk, PAGE]).fetchall():
        done += Bench.bare.execute(ACK, [Bench.site.pk, [row[0] for row in claimed]]).rowcount
    taken = time.perf_counter() - start
    assert done == ROWS, f"drained {done} of {ROWS}"
    return ROWS / taken


@contextmanager
def beside_peers() -> Iterator[None]:
    """Serve while the peers wait for jobs of their own."""
    with served(), running():
        yield


FIGURES = [
    Figure(
        "oci_drain",
        "rows/s",
        drain,
        bare,
        against="the same two statements in psycopg, on a bare copy of the table",
        at_least=0.6,
        on=beside_peers,
    ),
    Figure(
        "oci_drain_vs_procrastinate",
        "rows/s",
        drain,
        drain_procrastinate,
        against="no-op jobs/s of procrastinate: 2 workers, 10 at a time each, finished jobs deleted",
        at_least=15,
        on=beside_peers,
    ),
    Figure(
        "oci_drain_vs_django_q2",
        "rows/s",
        drain,
        drain_django_q2,
        against="no-op jobs/s of django-q2: 2 workers, bulk 50, connections kept, successes not saved",
        at_least=12,
        on=beside_peers,
    ),
    Figure(
        "oci_drain_by_two",
        "rows/s",
        drain_by_two,
        drain_django_q2,
        against="the same jobs of django-q2, with two clients of ours for its 2 workers",
        on=beside_peers,
    ),
]
