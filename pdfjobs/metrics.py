"""Prometheus metrics of PDF jobs, read from the database; they agree with the event history."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from kilit.batches.queues import Oldest
from kilit.lock.models import Count
from pdfjobs.models import PdfJob, RenderTiming
from pdfjobs.models.job import BOUNDS
from pdfjobs.states import PDF_JOBS, ErrorCode, PdfStatus


def oldest_queued(_user: object = None) -> Oldest | None:
    row = PdfJob.objects.due().defer("payload", "options").order_by("queued_at", "id").first()
    return Oldest(row, row.queued_at, row.template_name if row.document_number else "") if row else None


class PdfCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        """Read the totals that the lock's recorder maintains with every move; no rows are counted."""
        jobs = CounterMetricFamily(
            "ptf_admin_pdf_jobs", "Jobs that entered a state, creation included", labels=["status"]
        )
        failures = CounterMetricFamily("ptf_admin_pdf_failures", "Failed attempts", labels=["error_code"])
        entered = dict.fromkeys(PdfStatus.values, 0)
        failed = dict.fromkeys(ErrorCode.values, 0)
        depth = 0
        for total in Count.objects.totals(queue=PDF_JOBS.queue):
            entered[total.state] += total.entered
            if total.state == PdfStatus.FAILED:
                failed[total.scope] += total.entered
            if total.state == PdfStatus.QUEUED:
                depth += total.now
        for status, number in entered.items():
            jobs.add_metric([status], number)
        for code, number in failed.items():
            failures.add_metric([code], number)
        waiting = GaugeMetricFamily("ptf_admin_pdf_queue_depth", "Jobs waiting for a worker", value=depth)
        return iter((jobs, failures, waiting, self._times()))

    @staticmethod
    def _times() -> HistogramMetricFamily:
        timings = {timing.bound: timing for timing in RenderTiming.objects.all()}
        buckets, renders = [], 0
        for bound in BOUNDS:
            renders += timings[bound].renders if bound in timings else 0
            buckets.append(("+Inf" if bound == BOUNDS[-1] else str(bound), float(renders)))
        family = HistogramMetricFamily(
            "ptf_admin_pdf_render_total_seconds", "From the claim of a job to its stored PDF, for jobs that succeeded"
        )
        family.add_metric([], buckets, sum_value=sum(timing.seconds for timing in timings.values()))
        return family
