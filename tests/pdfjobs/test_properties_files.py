"""Properties of stored files and of the cleanup."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.examples import a_hundred_times
from tests.support.pdf_jobs import PdfApi, another_key, body, bring, new_job

pytestmark = pytest.mark.django_db

VARIED = {
    "invoice": "order_number",
    "offer": "subject",
    "delivery_note": "notes",
    "cutting_sheet": "customer",
    "conversion_report": "site",
}
numbers = count(1)


@a_hundred_times()
@given(
    template=st.sampled_from(sorted(VARIED)),
    text=st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cc"]), max_size=40),
    timeout=st.none() | st.integers(1, 60),
    fail_safe=st.none() | st.sampled_from(["strict", "degrade"]),
    landscape=st.booleans(),
)
def test_what_was_made_can_be_asked_for(
    api: PdfApi,
    worker_lives: Any,
    *,
    template: str,
    text: str,
    timeout: int | None,
    fail_safe: str | None,
    landscape: bool,
) -> None:
    """Feature: pdf-render-worker, Property 8: creating and reading a job is a round trip."""
    options = {"timeout": timeout, "fail_safe": fail_safe, "landscape": landscape}
    request = body(template, options=options)
    request["variables"] = {**request["variables"], VARIED[template]: f"{next(numbers)}{text}"}

    answer = api.post(request)

    made = answer.json()
    assert answer.status_code == 201, made
    again = api.post(request)
    assert (again.status_code, again.json()) == (200, made)
    asked = api.get(made["job_id"]).json()
    assert {name: asked[name] for name in ("job_id", "status", "created_at")} == made
    assert set(asked) - set(made) == {
        "started_at",
        "finished_at",
        "error_code",
        "download_url",
        "retry_count",
        "priority",
    }


@a_hundred_times()
@given(jobs=st.sets(st.uuids(), min_size=2, max_size=2), at=st.datetimes(timezones=st.just(UTC)))
def test_two_jobs_never_share_a_file(jobs: set[UUID], at: datetime) -> None:
    """Feature: pdf-render-worker, Property 9: uniqueness of artifact keys."""
    keys = {artifacts.new_key(job, at) for job in jobs}

    assert len(keys) == 2
    assert {artifacts.job_id_of(key) for key in keys} == jobs


@a_hundred_times()
@given(ages=st.lists(st.tuples(st.sampled_from(["queued", "succeeded", "failed"]), st.integers(0, 48)), max_size=3))
def test_cleanup_ends_the_old_and_spares_the_young(ages: list[tuple[str, int]]) -> None:
    """Feature: pdf-render-worker, Property 10: correctness of the TTL cleanup."""
    jobs = []
    for status, hours in ages:
        job = bring(new_job(job_key=another_key()), status, pdf=b"%PDF")
        column = "queued_at" if status == "queued" else "finished_at"
        PdfJob.objects.filter(pk=job.pk).update(**{column: Now() - timedelta(hours=hours, minutes=1)})
        jobs.append((job, hours))

    cleanup.clean()

    for job, hours in jobs:
        now = PdfJob.objects.get(pk=job.pk)
        if hours >= 24:
            assert (now.status, now.artifact_key, now.artifact_digest) == ("expired", "", job.artifact_digest)
            assert (now.payload, now.options, now.error_detail) == ({}, {}, "")
        else:
            assert (now.status, now.artifact_key) == (job.status, job.artifact_key)
        if job.artifact_key:
            assert artifacts.exists(job.artifact_key) == (hours < 24)
