"""Slow clients: how an honest client fares while 600 others, with a valid key, send a byte a second.

Against gunicorn alone, and through nginx and Caddy with the files of deploy/.
"""

import http.client
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from ociqueue.models import Site
from tests.support.proxies import PROGRAMS, PROXIES
from tests.support.slow_clients import TRUSTING
from tests.tools.benchmarks.harness import Figure, NotMeasured, scope
from tests.tools.benchmarks.servers import ROOT, Web, web

HEADERS, BODIES = 500, 100
REQUESTS = 200
TRIES, PATIENCE = 10, 2.0  # of an honest client that asks gunicorn itself


class Bench:
    """What is measured."""

    server: Web
    site: Site
    key: str
    tls: bool


@contextmanager
def product(proxy: str = "") -> Iterator[None]:
    """Run the web server as the Procfile does, with a proxy in front."""
    if proxy and not PROGRAMS[proxy]:
        raise NotMeasured(f"needs {proxy} on the path")
    with web(processes=2, KILIT_PROXIES="1") as server, TemporaryDirectory() as folder:
        start = PROXIES[proxy](Path(folder), web=server.port) if proxy else nullcontext(server.port)
        with start as port:
            Bench.site = Site.objects.create(name="Slow clients", default_currency="TRY")
            Bench.key, Bench.tls = Bench.site.issue_key(name="bench"), bool(proxy)
            Bench.server = Web(port, server.process, {"x-api-key": Bench.key})
            if proxy:
                Bench.server.connection = http.client.HTTPSConnection("localhost", port, timeout=120, context=TRUSTING)
            yield


def on(proxy: str) -> Callable[[], AbstractContextManager[None]]:
    return lambda: product(proxy)


@contextmanager
def slow_clients() -> Iterator[None]:
    """Run them in a process of their own; they connect again when they are disconnected."""
    numbers = map(str, (Bench.server.port, HEADERS, BODIES, int(Bench.tls)))
    command = [sys.executable, "-m", "tests.support.slow_clients", *numbers, Bench.key]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as clients:
        assert clients.stdin
        assert clients.stdout
        clients.stdout.readline()
        try:
            yield
        finally:
            clients.stdin.close()


def latency() -> float:
    """Ask again and again for something that reads the database; any failure ends the run."""
    taken = []
    for _ in range(REQUESTS):
        start = time.perf_counter()
        Bench.server.post("/api/oci/v2/verify", {"siteId": str(Bench.site.public_id)})
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.quantiles(taken, n=20)[-1]


def latency_among_slow_clients() -> float:
    with slow_clients():
        return latency()


def answered() -> float:
    """Return how many of some requests, each over a connection of its own, are answered soon."""
    count = 0
    for _ in range(TRIES):
        connection = http.client.HTTPConnection("127.0.0.1", Bench.server.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/healthz")
            count += connection.getresponse().status == 200
        except (TimeoutError, OSError):
            pass
        finally:
            connection.close()
    return 100 * count / TRIES


def answered_among_slow_clients() -> float:
    with slow_clients():
        share = answered()
    scope.note(f"Among slow clients, gunicorn alone answered {share:g} of 100 requests within {PATIENCE:g} s.")
    return share


THE_SAME = f"the same without {HEADERS} slow headers and {BODIES} slow bodies"
FIGURES = [
    Figure(
        name="slow_clients_alone",
        unit="% answered",
        ours=answered_among_slow_clients,
        other=answered,
        against=f"{THE_SAME}; within two seconds, without a proxy",
        on=on(""),
        rounds=1,
        warm=False,
    ),
    *(
        Figure(
            name=f"slow_clients_{proxy}",
            unit="ms",
            ours=latency_among_slow_clients,
            other=latency,
            against=f"{THE_SAME}; 95 of 100 requests are faster",
            at_most=2,
            on=on(proxy),
            rounds=3,
        )
        for proxy in PROXIES
    ),
]
