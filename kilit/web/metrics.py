"""Prometheus metrics of the web, summed over all web processes, and the version."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, product

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
