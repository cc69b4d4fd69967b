"""Prometheus metrics of the web, summed over all web processes, and the version."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, product
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Sum
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

import kilit
from kilit.web.counter import BUCKET, BUCKETS, METHODS, REASONS, REFUSED, REQUESTS, SECONDS, STATUSES, Series
from kilit.web.models import WebCounter, WebProcess

BOUNDS = [*map(floatToGoString, BUCKETS), "+Inf"]
PATIENCE = 1.0  # seconds to wait for the first text; a thread that waits longer is missed elsewhere
STALE_AFTER = 60.0  # seconds; an older text is not given out while the next is computed


class WebCollector(Collector):
    """Every series is there from the start: Prometheus would not see the first error of a new one as an increase."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = kinds

    def collect(self) -> Iterator[Metric]:
        totals = WebCounter.objects.totals()
        requests = CounterMetricFamily(
            "kilit_web_requests", "Requests by kind of address", labels=["kind", "method", "code"]
        )
        for labels in product(self._kinds, METHODS, STATUSES):
            requests.add_metric(labels, totals[Series(REQUESTS, labels)])
        seconds = HistogramMetricFamily(
            "kilit_web_request_seconds", "How long requests took until their answer was complete", labels=["kind"]
        )
        for kind in self._kinds:
            counts = accumulate(totals[Series(BUCKET, (kind, str(number)))] for number in range(len(BOUNDS)))
            seconds.add_metric([kind], list(zip(BOUNDS, counts, strict=True)), totals[Series(SECONDS, (kind,))])
        refused = CounterMetricFamily("kilit_web_refused", "Requests that were refused", labels=["reason"])
        for reason in REASONS:
            refused.add_metric([reason], totals[Series(REFUSED, (reason,))])
        yield from (requests, seconds, refused, *_processes())


def _processes() -> Iterator[Metric]:
    sums = WebProcess.objects.alive().aggregate(processes=Count("pk"), threads=Sum("threads"), busy=Sum("busy"))
    yield GaugeMetricFamily("kilit_web_processes", "Web processes that are alive", value=sums["processes"])
    yield GaugeMetricFamily("kilit_web_threads", "Threads that they have", value=sums["threads"] or 0)
    yield GaugeMetricFamily(
        "kilit_web_busy_threads", "Threads that worked, on average over some seconds", value=sums["busy"] or 0
    )


class BuildCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        version = {"version": kilit.__version__, "build": settings.BUILD}
        yield InfoMetricFamily("kilit_build", "The version that answers", value=version)


class Scrape(NamedTuple):
    text: bytes
    age: float  # seconds


class MetricsBusyError(Exception):
    """The text is being computed, and takes long."""


class ScrapeCache:
    """The last text of this process. One thread computes the next; the others get the last, or wait a moment."""

    def __init__(self, compute: Callable[[], bytes], clock: Callable[[], float] = time.monotonic) -> None:
        self._compute, self._clock = compute, clock
        self._computing = threading.Lock()
        self._last = (b"", float("-inf"))  # the text, and when it was computed

    def read(self, *, max_age: float) -> Scrape:
        """Return the text, computed now if the last is older; raises MetricsBusyError, and what computing raises."""
        if (scrape := self._last_scrape()).age < max_age:
            return scrape
        may_wait = scrape.age > STALE_AFTER
        if not self._computing.acquire(timeout=PATIENCE if may_wait else 0):
            if may_wait:
                raise MetricsBusyError
            return scrape
        try:
            if (scrape := self._last_scrape()).age >= max_age:  # no other thread was faster
                self._last = (self._compute(), self._clock())
            return self._last_scrape()
        finally:
            self._computing.release()

    def _last_scrape(self) -> Scrape:
        text, computed_at = self._last
        return Scrape(text, self._clock() - computed_at)
