"""PDF jobs conform to the lock, and columns agree with states."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from kilit.lock.leases import new_lease, no_lease
from kilit.lock.models import Event
from pdfjobs.models import PdfJob
from pdfjobs.states import RETRYABLE, ErrorCode
from tests.support.lifecycle_conformance import LifecycleConformance
from tests.support.pdf_jobs import PDF_JOBS, bring, new_job

pytestmark = pytest.mark.django_db


class TestPdfJobs(LifecycleConformance):
    specimen = PDF_JOBS


@pytest.mark.parametrize("code", RETRYABLE)
def test_a_retryable_failure_is_retried_twice_and_the_history_shows_every_move(code: str) -> None:
    """A retry is running → failed → queued, in one transaction."""
    job = new_job()

    for _ in range(3):
        PdfJob.objects.claim()
        PdfJob.objects.filter(pk=job.pk).fail(code=code, detail="no")
        PdfJob.objects.filter(pk=job.pk).update(queued_at=Now())  # what could not be stored waits two minutes

    job.refresh_from_db()
    moves = [(event.from_state, event.to_state) for event in Event.objects.of(job)]
    once = [("queued", "running"), ("running", "failed")]
    assert moves == [("", "queued"), *once, ("failed", "queued"), *once, ("failed", "queued"), *once]
    assert (job.status, job.error_code, job.retry_count) == ("failed", code, 2)


def test_a_job_tried_again_waits_behind_its_neighbours() -> None:
    first, second = new_job(number=1), new_job(number=2)
    assert PdfJob.objects.claim() == [first]
    PdfJob.objects.filter(pk=first.pk).fail(code=ErrorCode.NAVIGATION_TIMEOUT, detail="slow")

    assert [PdfJob.objects.claim(), PdfJob.objects.claim()] == [[second], [first]]


def test_a_claim_lasts_as_long_as_the_jobs_own_timeout_and_some() -> None:
    new_job(timeout=timedelta(seconds=20))

    (job,) = PdfJob.objects.claim()

    assert job.lease_until - job.started_at == timedelta(seconds=50)


WRONG: dict[str, Callable[[PdfJob], Any]] = {
    "running_pdf_is_held": lambda job: PdfJob.objects.filter(pk=job.pk).move("claim", started_at=Now()),
    "begun_pdf_has_started_at": lambda job: job.move("claim", **new_lease(timedelta(1))),
    "only_ended_pdf_has_finished_at": lambda job: PdfJob.objects.filter(pk=job.pk).update(finished_at=Now()),
    "only_succeeded_pdf_has_artifact": lambda job: PdfJob.objects.filter(pk=job.pk).update(artifact_key="x"),
    "failed_pdf_has_error_code": lambda job: bring(job, "running").move("fail", finished_at=Now(), **no_lease()),
    "pdf_retries_are_bounded": lambda job: new_job(owner=job.owner, job_key="3", retry_count=3),
    "pdf_priority_is_known": lambda job: PdfJob.objects.filter(pk=job.pk).update(priority=2),
    "pdf_timeout_is_bounded": lambda job: PdfJob.objects.filter(pk=job.pk).update(timeout=timedelta(seconds=61)),
    "succeeded_pdf_is_described": lambda job: bring(job, "running").move(
        "succeed", finished_at=Now(), artifact_key="x", **no_lease()
    ),
    "one_live_pdf_job_per_key": lambda job: new_job(owner=job.owner, job_key=job.job_key),
}


@pytest.mark.parametrize("constraint", WRONG)
def test_the_database_refuses_what_breaks(constraint: str) -> None:
    job = new_job()

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        WRONG[constraint](job)


def test_every_constraint_is_tried() -> None:
    assert {constraint.name for constraint in PdfJob._meta.constraints} == set(WRONG)
