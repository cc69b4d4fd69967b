"""What a worker does with a job, with a real browser in this process."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django_q.models import OrmQ

from kilit.lock.models import Event
from kilit.workers import doorbells
from pdfjobs import rendering, work
from pdfjobs.documents.definition import _engine
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.states import ErrorCode
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, body, files, new_job, some_user
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _close_browser() -> Iterator[None]:
    yield
    rendering.close()


@pytest.fixture(autouse=True)
def _time_for_all(monkeypatch) -> None:
    """Let a turn last until nothing waits, however slow the machine is."""
    monkeypatch.setattr(work, "TURN", PATIENCE)


def result_of(job: PdfJob) -> tuple[str, str, int]:
    job.refresh_from_db()
    return job.status, job.error_code, job.retry_count


def fail_with(monkeypatch, code: str) -> None:
    """Let the browser fail, at the outermost edge."""

    def failing(*_: Any, **__: Any) -> bytes:
        raise RenderError(code, "from the browser")

    monkeypatch.setattr(work, "render", failing)


def test_a_job_becomes_a_file_before_its_row_says_so(artifact_folder, monkeypatch) -> None:
    job = new_job()
    succeed, seen = PdfJob.succeed, []

    def look_and_succeed(self: PdfJob, *, artifact_key: str, **described: Any) -> PdfJob:
        seen.append(artifacts.exists(artifact_key))
        return succeed(self, artifact_key=artifact_key, **described)

    monkeypatch.setattr(PdfJob, "succeed", look_and_succeed)

    work.run_due_jobs()

    assert seen == [True]

    assert result_of(job) == ("succeeded", "", 0)
    content = (artifact_folder / job.artifact_key).read_bytes()
    assert content.startswith(b"%PDF-")
    assert (job.artifact_size, files(artifact_folder)) == (len(content), [job.artifact_key])
    assert [event.actor for event in Event.objects.of(job)][1:] == ["worker:pdf", "worker:pdf"]


def test_the_same_job_is_the_same_bytes_after_a_browser_restart() -> None:
    job = new_job()

    first = work.render_job(job)
    rendering.close()

    assert work.render_job(job) == first


def test_no_transaction_is_open_while_the_browser_works(transactional_db: None, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(work, "render", lambda *_, **__: seen.append(connection.in_atomic_block) or PDF)
    job = new_job()

    work.run_due_jobs()

    assert seen == [False]
    assert result_of(job)[0] == "succeeded"


@pytest.mark.parametrize("code", ErrorCode.values)
def test_each_failure_ends_in_its_code_after_its_retries(monkeypatch, code: str) -> None:
    job = new_job()
    fail_with(monkeypatch, code)

    for _ in range(3):
        PdfJob.objects.filter(status="queued").update(queued_at=Now())  # what could not be stored waits
        work.run_due_jobs()

    retries = 2 if ErrorCode(code).retryable else 0
    assert result_of(job) == ("failed", code, retries)
    assert job.error_detail == "from the browser"


def test_an_unexpected_error_is_unknown_and_the_next_job_renders(monkeypatch) -> None:
    broken, fine = new_job(number=1), new_job(number=2)
    monkeypatch.setattr(work, "render", lambda *_, made_at, **__: PDF if made_at == fine.created_at else 1 / 0)

    work.run_due_jobs()

    assert result_of(broken) == ("failed", "UNKNOWN", 0)
    assert broken.error_detail == "ZeroDivisionError: division by zero"
    assert result_of(fine)[0] == "succeeded"


def test_a_broken_template_names_its_place_to_the_operator(settings, tmp_path: Path) -> None:
    job = new_job()
    broken = tmp_path / "templates" / "pdf" / "invoice.html"
    broken.parent.mkdir(parents=True)
    broken.write_text("<html>\n<body>\n{% for line in lines %}\n{% endfro %}</body></html>")
    settings.BASE_DIR = tmp_path
    _engine.cache_clear()

    try:
        work.run_due_jobs()
    finally:
        _engine.cache_clear()

    assert result_of(job) == ("failed", "TEMPLATE_ERROR", 0)
    assert "invoice.html, line 4" in job.error_detail


def test_a_missing_browser_is_reported_and_not_retried(monkeypatch) -> None:
    job = new_job()
    rendering.close()
    monkeypatch.setenv("KILIT_CHROMIUM", "/nowhere/chromium")

    work.run_due_jobs()

    assert result_of(job) == ("failed", "UNSUPPORTED_PLATFORM", 0)
    monkeypatch.undo()
    after = new_job(number=2)
    work.run_due_jobs()
    assert result_of(after)[0] == "succeeded"


def test_a_browser_that_does_not_start_is_tried_three_times(monkeypatch, tmp_path: Path) -> None:
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Chromium 1' && exit 0\nexit 7\n")
    fake.chmod(0o755)
    rendering.close()
    monkeypatch.setenv("KILIT_CHROMIUM", str(fake))
    job = new_job()

    work.run_due_jobs()

    assert result_of(job) == ("failed", "BROWSER_LAUNCH_FAILED", 2)
    monkeypatch.undo()


def test_a_worker_of_another_version_stores_nothing_under_this_key(artifact_folder, monkeypatch) -> None:
    """The key covers the templates, fonts and browser of the web process; the worker's may be older."""
    job = new_job()
    queued_at = PdfJob.objects.get().queued_at
    monkeypatch.setattr(work, "_left", {})
    monkeypatch.setattr(rendering.chromium, "REVISION", rendering.chromium.REVISION + 1)

    work.run_due_jobs()
    work.run_due_jobs()
    left, turn = result_of(job), PdfJob.objects.get().queued_at
    times_left = Event.objects.filter(object_id=job.pk, to_state="failed").count()
    PdfJob.objects.update(created_at=Now() - work.VERSION_WAIT - timedelta(seconds=1))
    work._left.clear()
    monkeypatch.setattr(work, "_loaded_at", work._loaded_at - 3600)
    work.run_due_jobs()

    assert (left, turn, times_left) == (("queued", "", 0), queued_at, 1)  # no retry was used up
    assert result_of(job) == ("failed", "VERSION_MISMATCH", 2)  # no worker of its version came
    assert "older than those of the process that created the job" in job.error_detail
    assert files(artifact_folder) == []


def test_a_worker_of_a_newer_version_renders_what_an_older_one_left(monkeypatch) -> None:
    job = new_job()
    key = job.job_key
    PdfJob.objects.update(created_at=Now() - timedelta(days=1))  # the worker was started later
    monkeypatch.setattr(rendering.chromium, "REVISION", rendering.chromium.REVISION + 1)
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)

    work.run_due_jobs()
    again, is_new = enqueue(some_user(), parse_job_request(body()))

    assert result_of(job) == ("succeeded", "", 0)
    assert (is_new, again.job_key == key) == (True, False)  # the newer version's own document is another one


@pytest.mark.parametrize("rate", [-0.0, 0, 12.0, "12.50", 0.1, 33.33])
@pytest.mark.parametrize("margin", [-0.0, 12, 12.34])
def test_a_key_is_the_same_for_the_worker_who_reads_the_job_back(monkeypatch, rate: Any, margin: float) -> None:
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    sent = body(options={"margin": {"left": margin}})
    line = {**sent["variables"]["lines"][0], "discount_rate": rate}
    sent["variables"] = {**sent["variables"], "lines": [line]}
    job, _ = enqueue(some_user(), parse_job_request(sent))

    work.run_due_jobs()

    assert result_of(job) == ("succeeded", "", 0)


def test_a_full_disk_is_retried_twice_but_not_at_once(monkeypatch) -> None:
    job, behind = new_job(number=1), new_job(number=2)
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)

    def full(*_: Any) -> None:
        raise artifacts.StorageUnavailable("No space left on device")

    monkeypatch.setattr(artifacts, "save", full)
    work.run_due_jobs()

    assert (result_of(job), result_of(behind)) == (("queued", "", 1), ("queued", "", 0))
    for _ in range(5):
        work.run_due_jobs()
    assert (result_of(job), result_of(behind)) == (("queued", "", 1), ("queued", "", 1))
    for _ in range(4):
        PdfJob.objects.update(queued_at=Now())  # minutes later
        work.run_due_jobs()
    assert result_of(job) == result_of(behind) == ("failed", "STORAGE_UNAVAILABLE", 2)
    assert "No space left" in job.error_detail
    codes = [event.details.get("error_code") for event in Event.objects.of(job) if event.to_state == "failed"]
    assert codes == ["STORAGE_UNAVAILABLE"] * 3


def test_no_job_is_lost_while_the_disk_is_away(artifact_folder, monkeypatch) -> None:
    """One is being rendered when the disk goes: it waits with the others, however often the bell rings."""
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    first = new_job(number=0)
    work.run_due_jobs()
    assert result_of(first)[0] == "succeeded"
    rendered = []

    def lose_the_disk(*_: Any, **__: Any) -> bytes:
        rendered.append((artifact_folder / "pdfs").rename(artifact_folder / "away"))
        return PDF

    monkeypatch.setattr(work, "render", lose_the_disk)
    jobs = [new_job(number=number) for number in (1, 2)]
    for _ in range(10):
        work.run_due_jobs()

    assert len(rendered) == 1
    assert [result_of(job) for job in jobs] == [("queued", "", 1), ("queued", "", 0)]

    (artifact_folder / "away").rename(artifact_folder / "pdfs")
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    PdfJob.objects.filter(status="queued").update(queued_at=Now())  # minutes later
    work.run_due_jobs()

    assert [result_of(job)[0] for job in jobs] == ["succeeded", "succeeded"]


def test_a_worker_calls_one_more_to_the_rest_and_that_one_calls_the_next(worker_lives, monkeypatch) -> None:
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    for number in range(4):
        new_job(number=number)
    rung = []

    def ring(name: str) -> None:
        rung.append(name)
        if len(rung) == 1:
            work.run_due_jobs()  # the worker who was called, while the first has its first job in hand

    monkeypatch.setattr(doorbells, "ring_now", ring)

    work.run_due_jobs()

    assert rung == ["pdf", "pdf"]
    assert not PdfJob.objects.due().exists()


def test_a_worker_goes_home_after_its_turn_and_rings(worker_lives, monkeypatch) -> None:
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    monkeypatch.setattr(work, "TURN", -1)
    new_job(number=1)
    new_job(number=2)

    work.run_due_jobs()

    assert PdfJob.objects.due().count() == 1
    assert OrmQ.objects.count() == 1


def test_a_job_is_over_before_its_task_is_ended_by_force(monkeypatch, settings) -> None:
    settings.TASK_TIMEOUT = 40
    given = []
    monkeypatch.setattr(work, "render", lambda *_, hard_timeout, **__: given.append(hard_timeout) or PDF)
    new_job(number=1)
    new_job(number=2, timeout=timedelta(seconds=10))

    work.run_due_jobs()

    assert given == [timedelta(seconds=25), timedelta(seconds=10)]
