"""Prometheus metrics of PDF jobs."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Count
from pdfjobs.models import PdfJob, RenderTiming
from pdfjobs.states import ErrorCode

pytestmark = pytest.mark.django_db


def test_every_name_is_there_from_the_start(client) -> None:
    page = client.get("/metrics").content.decode()

    for status in ("queued", "running", "succeeded", "failed", "expired"):
        assert f'ptf_admin_pdf_jobs_total{{status="{status}"}} 0.0' in page
    for code in ErrorCode.values:
        assert f'ptf_admin_pdf_failures_total{{error_code="{code}"}} 0.0' in page
    assert "ptf_admin_pdf_queue_depth 0.0" in page
    assert 'ptf_admin_pdf_render_total_seconds_bucket{le="+Inf"} 0.0' in page
    assert "# TYPE ptf_admin_pdf_render_total_seconds histogram" in page


def test_folding_the_counts_changes_no_number(client, make_job) -> None:
    for status in ("queued", "succeeded", "failed", "failed"):
        make_job(status)
    before = [line for line in client.get("/metrics").content.decode().splitlines() if line.startswith("ptf_")]

    Count.objects.fold()

    after = [line for line in client.get("/metrics").content.decode().splitlines() if line.startswith("ptf_")]
    assert after == before
    assert 'ptf_admin_pdf_failures_total{error_code="TEMPLATE_ERROR"} 2.0' in after


def test_times_are_counted_in_their_bucket(make_job) -> None:
    took = (-3600.0, 15.0, 15.0, 35.0, 300.0)  # seconds; each far from the end of its bucket
    for seconds in took:
        job = make_job("running")
        PdfJob.objects.filter(pk=job.pk).update(started_at=Now() - timedelta(seconds=seconds))

        job.succeed(artifact_key="k", size=1, digest="d")

    counted = dict(RenderTiming.objects.values_list("bound", "renders"))
    assert counted == {0.1: 1, 30.0: 2, 60.0: 1, float("inf"): 1}


def test_a_render_is_timed_by_the_database(make_job) -> None:
    job = make_job("succeeded")

    (timing,) = RenderTiming.objects.all()
    assert timing.seconds == pytest.approx((job.finished_at - job.started_at).total_seconds())
    assert PdfJob.objects.get(pk=job.pk).seconds == timing.seconds
