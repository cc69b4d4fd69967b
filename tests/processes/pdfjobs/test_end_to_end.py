"""From the door to the download, through one real worker with real browsers."""

import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from django.core.management import call_command
from pypdf import PdfReader

from kilit.lock.models import Event
from pdfjobs import rendering, work
from pdfjobs.documents import document
from pdfjobs.models import PdfJob
from tests.support.listener import Listener
from tests.support.pdf_jobs import PdfApi, body, keep_files_in, some_user
from tests.support.pdf_workers import browsers_in, ended, endless_body, long_body, moves, real_workers
from tests.support.waiting import wait_until
from tests.support.workers import Workers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this module's workers keep their files."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module", autouse=True)
def workers(folder: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Workers]:
    """Start workers once for all tests here; none of them stops the others' work."""
    with django_db_blocker.unblock():
        try:
            with real_workers(folder) as started:
                yield started
        finally:
            rendering.close()
            call_command("flush", interactive=False, verbosity=0, inhibit_post_migrate=True)


@pytest.fixture(autouse=True)
def _own_store(settings, folder: Path) -> None:
    """Look for files where the workers keep them."""
    keep_files_in(settings, folder / "artifacts")


@pytest.fixture
def db(workers: Workers) -> None:
    """The database of the workers, without a transaction around each test; its name has it made if this runs alone."""


@pytest.fixture
def api(db: None) -> PdfApi:
    """A caller whom no other test knows, so that nothing it asks for is there already."""
    return PdfApi(some_user(f"shop-{uuid4().hex[:8]}"))


def test_every_template_from_the_door_to_the_download(api) -> None:
    """And another process makes the very same bytes of the same job."""
    posted = {
        kind: api.post(body(kind)).json()["job_id"]
        for kind in ("invoice", "offer", "delivery_note", "cutting_sheet", "labels", "conversion_report")
    }

    wait_until(ended(*posted.values()))

    for kind, job_id in posted.items():
        answer = api.download(job_id)
        pdf = b"".join(answer.streaming_content)
        reader = PdfReader(BytesIO(pdf))
        fonts = {str(font["/BaseFont"]) for page in reader.pages for font in fonts_of(page)}
        assert answer.headers["Content-Type"] == "application/pdf"
        text = "".join(page.extract_text() for page in reader.pages)
        assert re.search("[ğşıİçöü]", text), kind
        assert not re.search("[\ue000-\uf8ff]", text), "sums and times can be searched and copied"
        assert fonts
        assert all("+" in font for font in fonts), "each font is a subset embedded in the file"
        assert work.render_job(PdfJob.objects.get(pk=job_id)) == pdf


def fonts_of(page: Any) -> list[Any]:
    return [font.get_object() for font in page["/Resources"]["/Font"].values()]


@pytest.mark.nightly  # it waits for three time limits
def test_a_document_that_does_not_finish_fails_after_two_retries_and_its_neighbour_renders(
    workers: Workers, api
) -> None:
    """The browser is killed, not waited for."""
    slow = api.post(endless_body()).json()["job_id"]
    wait_until(lambda: PdfJob.objects.get(pk=slow).status != "queued")
    neighbour = api.post().json()["job_id"]

    wait_until(ended(slow, neighbour))

    job = PdfJob.objects.get(pk=slow)
    attempt = ["running", "failed NAVIGATION_TIMEOUT"]
    assert moves(job) == ["queued", *attempt, "queued", *attempt, "queued", *attempt]
    assert (job.status, job.retry_count) == ("failed", 2)
    assert moves(PdfJob.objects.get(pk=neighbour)) == ["queued", "running", "succeeded"]


def test_a_browser_killed_while_it_renders_costs_one_retry(api, folder) -> None:
    job = wait_until(lambda: struck(api, folder))

    wait_until(ended(job.pk))
    way = moves(job)
    assert way[:4] in (
        ["queued", "running", "failed BROWSER_CRASHED", "queued"],
        ["queued", "running", "failed BROWSER_LAUNCH_FAILED", "queued"],  # killed before it was up
    )
    assert way[-1] == "succeeded"


def struck(api: PdfApi, folder: Path) -> PdfJob | None:
    """Ask for a document, and kill browsers until it has failed; none when it was made before that was felt."""
    sent = long_body(800, metadata={"title": uuid4().hex})
    job = PdfJob.objects.get(pk=api.post(sent).json()["job_id"])
    events = Event.objects.of(job)
    wait_until(lambda: events.filter(to_state="running").exists())
    # All of them: which one renders this job is not visible from outside.
    wait_until(lambda: kill(browsers_in(folder)) or events.filter(to_state__in=["failed", "succeeded"]).exists())
    return job if events.filter(to_state="failed").exists() else None


def kill(browsers: list[psutil.Process]) -> None:
    for browser in browsers:
        with suppress(psutil.NoSuchProcess):
            browser.kill()


VECTORS = (
    '<img src="{0}/img"><script src="{0}/js"></script><link rel="prefetch" href="{0}/prefetch">'
    '<iframe src="{0}/frame"></iframe><object data="{0}/object"></object>'
    '<meta http-equiv="refresh" content="0;{0}/meta">'
    '<style>@import url("{0}/css");</style><body onload="fetch(\'{0}/fetch\')"><a ping="{0}/ping" href="{0}">x</a>'
    "{{{{ request }}}}{{% include '{0}' %}}&lt;b&gt;"
)


def test_nothing_in_the_variables_reaches_the_network(api, listener: Listener) -> None:
    """Every vector comes out as text."""
    nasty = VECTORS.format(f"http://127.0.0.1:{listener.port}")
    sample = document("invoice").sample
    variables = {**sample, "notes": nasty, "lines": [{**sample["lines"][0], "description": nasty[:200]}]}
    job_id = api.post(body(variables=variables)).json()["job_id"]

    wait_until(ended(job_id))

    pdf = b"".join(api.download(job_id).streaming_content)
    shown = "".join("".join(page.extract_text() for page in PdfReader(BytesIO(pdf)).pages).split())
    assert "<script" in shown
    assert "{{request}}" in shown
    assert listener.connections == 0


def test_two_workers_share_the_queue_and_metrics_tell_the_history(api, client) -> None:
    """After a mixed run the numbers of /metrics are those of the events."""
    other = PdfApi(some_user("other"))
    jobs = [
        caller.post(body(options={"metadata": {"title": f"{number}"}})).json()["job_id"]
        for number in range(10)
        for caller in (api, other)
    ]
    jobs.append(api.post(endless_body()).json()["job_id"])

    wait_until(ended(*jobs))

    page = client.get("/metrics").content.decode()
    events = Event.objects.filter(queue="pdf")
    for state in ("queued", "running", "succeeded", "failed", "expired"):
        assert f'ptf_admin_pdf_jobs_total{{status="{state}"}} {float(events.filter(to_state=state).count())}' in page
    failed = events.filter(to_state="failed", details__error_code="NAVIGATION_TIMEOUT").count()
    assert failed >= 3
    assert f'ptf_admin_pdf_failures_total{{error_code="NAVIGATION_TIMEOUT"}} {float(failed)}' in page
    assert "ptf_admin_pdf_queue_depth 0.0" in page
    done = events.filter(to_state="succeeded").count()
    assert f"ptf_admin_pdf_render_total_seconds_count {float(done)}" in page
