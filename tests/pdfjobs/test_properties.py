"""The ten correctness properties of the PDF render worker, each over at least a hundred examples."""

import json
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models.functions import Now
from hypothesis import given
from hypothesis import strategies as st

from kilit.lock.models import Event
from pdfjobs.documents import document
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.metrics import PdfCollector
from pdfjobs.models import PdfJob
from pdfjobs.rendering import PageOptions
from pdfjobs.states import MAX_RETRIES, RETRYABLE, ErrorCode, PdfStatus
from pdfjobs.storage import artifacts
from tests.support.examples import a_hundred_times
from tests.support.pdf_jobs import PDF_JOBS, another_key, body, bring, new_job, some_user

pytestmark = pytest.mark.django_db

# As the document lists them, and not as our table does.
RETRY = ("failed", "queued")
ARROWS = {
    ("queued", "running"),
    ("running", "succeeded"),
    ("running", "failed"),
    ("failed", "queued"),
    ("queued", "failed"),  # a retry that was undone
    ("queued", "expired"),
    ("succeeded", "expired"),
    ("failed", "expired"),
}

text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=12,
)


payloads = st.dictionaries(text, json_values, max_size=5)


@a_hundred_times()
@given(walk=st.lists(st.sampled_from(PdfStatus.values), max_size=10))
def test_only_listed_arrows_are_walked(walk: list[str]) -> None:
    """Feature: pdf-render-worker, Property 1: valid moves of the state machine."""
    specimen = PDF_JOBS
    job, state = specimen.make(), "queued"

    for target in walk:
        if (state, target) in ARROWS:
            verb = next(v for v, m in specimen.table.moves.items() if state in m.sources and m.target == target)
            specimen.apply(job, verb)
            state = target
        elif state != target:
            with pytest.raises(IntegrityError, match=f"cannot move from {state} to {target}"):
                specimen.write_state(job, target)

        assert PdfJob.objects.get(pk=job.pk).status == state


def shuffled(value: Any, luck: random.Random) -> Any:
    """Return an equal value with its keys in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(inner, luck)) for key, inner in value.items()]
        luck.shuffle(items)
        return dict(items)
    return [shuffled(inner, luck) for inner in value] if isinstance(value, list) else value


@a_hundred_times()
@given(one=payloads, other=payloads, landscape=st.booleans(), seed=st.integers())
def test_a_key_is_the_same_for_the_same_and_another_for_another(
    one: dict[str, Any], other: dict[str, Any], *, landscape: bool, seed: int
) -> None:
    """Feature: pdf-render-worker, Property 2: deterministic hash of the job key."""
    invoice, options = document("invoice"), PageOptions.read({"landscape": landscape})
    key = invoice.job_key(one, options)

    assert invoice.job_key(shuffled(one, random.Random(seed)), options) == key
    assert (invoice.job_key(other, options) == key) == (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )
    assert document("offer").job_key(one, options) != key
    assert invoice.job_key(one, PageOptions.read({"landscape": not landscape})) != key


@a_hundred_times()
@given(codes=st.lists(st.sampled_from(ErrorCode.values), min_size=1, max_size=MAX_RETRIES + 1))
def test_only_retryable_failures_are_retried_at_most_twice(codes: list[str]) -> None:
    """Feature: pdf-render-worker, Property 3: correctness of the retry policy."""
    job = new_job(owner=some_user(), job_key=another_key())
    retries = 0

    for code in codes:
        PdfJob.objects.filter(pk=job.pk).update(queued_at=Now())  # what could not be stored waits two minutes
        bring(job, PdfStatus.FAILED, code=code)

        job.refresh_from_db()
        again = ErrorCode(code).retryable and retries < 2
        retries += again
        assert (job.status, job.retry_count) == ("queued" if again else "failed", retries)
        if not again:
            break

    assert set(ErrorCode) - set(RETRYABLE) == {
        *("TEMPLATE_ERROR", "PAGES_MISSING", "DOCUMENT_TOO_LARGE"),
        *("UNSUPPORTED_PLATFORM", "UNKNOWN"),
    }


@a_hundred_times()
@given(number=st.integers(0, 10**6), status=st.sampled_from(PdfStatus.values), is_lost=st.booleans())
def test_the_same_request_finds_its_job_unless_that_has_nothing_to_give(
    number: int, status: str, *, is_lost: bool
) -> None:
    """Feature: pdf-render-worker, Property 4: guarantee of idempotency."""
    owner = some_user()
    request = body()
    request["variables"] = {**request["variables"], "number": f"I-{number}"}
    PdfJob.objects.live().filter(status=PdfStatus.RUNNING).fail(code="UNKNOWN", detail="")
    PdfJob.objects.live().expire()
    job, is_new = enqueue(owner, parse_job_request(request))
    job = bring(job, status)
    if is_lost and job.artifact_key:
        artifacts.delete(job.artifact_key)

    found, is_another = enqueue(owner, parse_job_request(request))

    kept = status in ("queued", "running") or (status == "succeeded" and not is_lost)
    assert is_new
    assert (found.pk == job.pk) == kept
    assert is_another == (not kept)


def metrics() -> dict[str, float]:
    """Return all numbers of one request to /metrics."""
    samples = [sample for metric in PdfCollector().collect() for sample in metric.samples]
    return {" ".join([sample.name, *sample.labels.values()]): sample.value for sample in samples}


@a_hundred_times()
@given(
    fates=st.lists(
        st.sampled_from(["queued", "running", "succeeded", "expired", "reaped", *ErrorCode.values]), max_size=3
    )
)
def test_metrics_equal_the_history(fates: list[str]) -> None:
    """Feature: pdf-render-worker, Property 7: consistency of recorded metrics."""
    for fate in fates:
        job = new_job(job_key=another_key())
        if fate == "reaped":
            bring(job, "running")
            PdfJob.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
            PdfJob.objects.recover()
        elif fate in ErrorCode.values:
            bring(job, "failed", code=fate)
        else:
            bring(job, fate, pdf=b"%PDF")

    events = Event.objects.filter(queue="pdf").values_list("from_state", "to_state", "details__error_code")
    history = Counter(events)
    entered = Counter(to_state for _, to_state, _ in events)
    failed = Counter(code for _, to_state, code in events if to_state == "failed")
    retried = sum(number for (from_state, to_state, _), number in history.items() if (from_state, to_state) == RETRY)
    counted = metrics()
    assert {status: counted[f"ptf_admin_pdf_jobs_total {status}"] for status in entered} == entered
    assert {code: counted[f"ptf_admin_pdf_failures_total {code}"] for code in failed} == failed
    assert counted["ptf_admin_pdf_jobs_total queued"] - retried == PdfJob.objects.count()
    assert counted["ptf_admin_pdf_queue_depth"] == PdfJob.objects.due().count()
    assert counted["ptf_admin_pdf_render_total_seconds_count"] == entered["succeeded"]
