"""Memory: what the web and the workers hold when they rest, and after very many rows went through."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from psutil import Process

from kilit.workers.models import Heartbeat
from ociqueue.models import Site
from tests.tools.benchmarks.harness import Figure, NotMeasured, scope
from tests.tools.benchmarks.servers import Web, resident_megabytes, started, web
from tests.tools.load.driver import LoadTest

WARM = 5_000
BATCH = 1_000


class Bench:
    """What is measured."""

    server: Web
    worker: Process
    site: Site
    key: str
    rested: dict[str, float]


@contextmanager
def product() -> Iterator[None]:
    """Run the web and the workers as the Procfile does."""
    with web(processes=2) as Bench.server, started(["manage.py", "runworkers"]) as Bench.worker:
        Bench.site = Site.objects.create(name="Memory", default_currency="TRY")
        Bench.key = Bench.site.issue_key(name="bench")
        end = time.monotonic() + 60
        while not Heartbeat.objects.alive().exists():
            if time.monotonic() > end:
                raise NotMeasured("the workers did not start")
            time.sleep(0.2)
        _through(WARM)
        Bench.rested = {"web": resident_megabytes(Bench.server.process), "worker": resident_megabytes(Bench.worker)}
        _through(_many())
        yield


def _many() -> int:
    if scope.full:
        return 1_000_000
    scope.note("`memory_web`, `memory_worker`: after 30 thousand rows here; `make bench-full` takes a million.")
    return 30_000


def _through(rows: int) -> None:
    test = LoadTest(
        url=f"http://127.0.0.1:{Bench.server.port}",
        site=Bench.site.public_id,
        key=Bench.key,
        rows=rows,
        batch=BATCH,
        clients=2,
    )
    test.fill()
    test.drain()
    assert test.tally.acknowledged == rows, test.tally


def web_after() -> float:
    """Weigh the web after the load."""
    return resident_megabytes(Bench.server.process)


def web_before() -> float:
    """Tell what the web weighed before."""
    return Bench.rested["web"]


def worker_after() -> float:
    """Weigh the workers after the load."""
    return resident_megabytes(Bench.worker)


def worker_before() -> float:
    """Tell what the workers weighed before."""
    return Bench.rested["worker"]


AGAINST = "the same processes, warm, before the rows went through"
FIGURES = [
    Figure("memory_web", "MB", web_after, web_before, AGAINST, at_most=1.25, on=product, rounds=1, warm=False),
    Figure("memory_worker", "MB", worker_after, worker_before, AGAINST, at_most=1.25, on=product, rounds=1, warm=False),
]
