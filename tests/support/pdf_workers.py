"""Real workers with real browsers for the PDF queue's tests, and documents that keep them busy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db import connection

from kilit.lock.models import Event
from pdfjobs.documents import document
from pdfjobs.models import PdfJob, RenderTiming
from tests.support.pdf_jobs import body
from tests.support.waiting import wait_until
from tests.support.workers import Workers

END_WAITING = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


@contextmanager
def real_workers(folder: Path) -> Iterator[Workers]:
    """Run workers that keep their files in a folder; when they end, no browser of theirs may be left."""
    workers = Workers()
    workers.settings = "tests.apps.patient.settings"
    workers.task_timeout = 120  # on a busy machine a long document takes a while
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILIT_VAR", str(folder))
        try:
            workers.start()
            yield workers
        finally:
            workers.stop()
            wait_until(lambda: not browsers_in(folder))  # the last end a moment after their workers


@contextmanager
def unfinished() -> Iterator[None]:
    """Let workers take documents and make them, but finish none: how long one took cannot be written meanwhile."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE {RenderTiming._meta.db_table} IN EXCLUSIVE MODE")
            yield
            cursor.execute(END_WAITING)  # the server would complete the statements of the dead, too
    finally:
        other.close()


def browsers_in(folder: Path) -> list[psutil.Process]:
    """Return the browsers whose worker keeps its files in a folder, also those that outlived it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if "headless" in process.name() and process.environ().get("FONTCONFIG_FILE", "").startswith(str(folder)):
                found.append(process)
    return found


def long_body(lines: int, *, words: int = 40, **options: Any) -> dict[str, Any]:
    """Return an invoice of many pages, which takes the browser a while."""
    sample = document("invoice").sample
    line = {**sample["lines"][0], "detail": "uzun " * words}
    rows = [{**line, "description": f"Kalem {number}"} for number in range(lines)]
    return body(variables={**sample, "lines": rows}, options=options)


def endless_body() -> dict[str, Any]:
    """Return a document that no browser makes in the time it is given, on the fastest machine."""
    return long_body(1000, words=199, timeout=1)


def ended(*jobs: Any) -> Callable[[], bool]:
    return lambda: not PdfJob.objects.filter(pk__in=jobs, status__in=["queued", "running"]).exists()


def moves(job: PdfJob) -> list[str]:
    """Return a job's way through its states, with the codes of its failures."""
    return [
        f"{event.to_state} {event.details.get('error_code', '')}".strip()
        if event.to_state == "failed"
        else event.to_state
        for event in Event.objects.of(job)
    ]
