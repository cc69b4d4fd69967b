"""Slow clients: how long an honest client waits for an answer while 600 others send a byte a second."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ociqueue.models import Site
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.servers import ROOT, Web, web

HEADERS, BODIES = 500, 100
REQUESTS = 200


class Bench:
    """What is measured."""

    server: Web
    site: Site


@contextmanager
def product() -> Iterator[None]:
    """Run the web server as the Procfile does."""
    with web(processes=2) as server:
        Bench.site = Site.objects.create(name="Slow clients", default_currency="TRY")
        Bench.server = server.with_headers(x_api_key=Bench.site.issue_key(name="bench"))
        yield


def latency() -> float:
    """Ask again and again for something that reads the database; any failure ends the run."""
    taken = []
    for _ in range(REQUESTS):
        start = time.perf_counter()
        Bench.server.post("/api/oci/v2/verify", {"siteId": str(Bench.site.public_id)})
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.quantiles(taken, n=20)[-1]


def latency_among_slow_clients() -> float:
    """Likewise, beside clients in a process of their own, who connect again when they are disconnected."""
    command = [sys.executable, "-m", "tests.support.slow_clients", str(Bench.server.port), str(HEADERS), str(BODIES)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as clients:
        assert clients.stdin
        assert clients.stdout
        clients.stdout.readline()
        try:
            return latency()
        finally:
            clients.stdin.close()


FIGURES = [
    Figure(
        name="slow_clients",
        unit="ms",
        ours=latency_among_slow_clients,
        other=latency,
        against="the same without 500 slow headers and 100 slow bodies; 95 of 100 requests are faster",
        at_most=2,
        on=product,
    )
]
