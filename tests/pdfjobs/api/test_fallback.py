"""Without a worker: an error, or the document as HTML; normal operation resumes automatically."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now

from kilit.workers.models import ALIVE_FOR, Heartbeat
from pdfjobs.api import without_database
from pdfjobs.documents import Document, DocumentError
from pdfjobs.documents.kinds import labels
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import body

pytestmark = pytest.mark.django_db

DEGRADE = {"options": {"fail_safe": "degrade"}}


@contextmanager
def no_database() -> Iterator[None]:
    """Let every query fail, as it does when PostgreSQL is gone."""

    def gone(*_: Any) -> None:
        raise OperationalError("connection refused")

    with connection.execute_wrapper(gone):
        yield


def test_strict_is_503_and_nothing_is_stored(api) -> None:
    answer = api.post()

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "PDF_RENDER_UNAVAILABLE")
    assert int(answer.headers["Retry-After"]) > 0
    assert not PdfJob.objects.exists()


def test_degrade_is_the_document_as_html(api) -> None:
    answer = api.post(body(**DEGRADE))

    assert answer.status_code == 200
    assert answer.headers["X-Pdf-Fallback"] == "html"
    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"<html" in answer.content
    assert not PdfJob.objects.exists()


def test_a_broken_template_is_reported_without_its_place(api, monkeypatch, caplog) -> None:
    """Template and line are in the log, for operators."""

    def broken(*_: Any) -> str:
        raise DocumentError("pdf/invoice.html", 12, "no such tag")

    monkeypatch.setattr("pdfjobs.documents.Document.html", broken)

    answer = api.post(body(**DEGRADE))

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "TEMPLATE_ERROR")
    assert "12" not in answer.json()["error"]["message"]
    assert "pdf/invoice.html, line 12: no such tag" in caplog.text


def test_the_installation_chooses_for_callers_who_do_not(api, settings) -> None:
    settings.PDF_FAIL_SAFE = "degrade"

    assert api.post().headers["X-Pdf-Fallback"] == "html"
    assert api.post(body(options={"fail_safe": "strict"})).status_code == 503


def test_a_silent_worker_is_no_worker_and_a_beat_heals(api) -> None:
    Heartbeat.objects.create(name="here", alive_at=Now() - ALIVE_FOR - timedelta(seconds=1))
    assert api.post().status_code == 503

    Heartbeat.objects.update(alive_at=Now())

    assert api.post().status_code == 201


def test_a_bad_request_is_refused_whoever_lives(api) -> None:
    assert api.post(body(options={"fail_safe": "degrade", "timeout": 99})).status_code == 400


@pytest.fixture
def known_api(api, worker_lives) -> Any:
    """The API with a key that this process has seen valid."""
    assert api.post().status_code == 201
    return api


def test_without_a_database_strict_is_503(known_api) -> None:
    with no_database():
        answer = known_api.post()

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "PDF_RENDER_UNAVAILABLE")
    assert known_api.post().status_code == 200


def test_without_a_database_degrade_is_html(known_api) -> None:
    with no_database():
        answer = known_api.post(body(**DEGRADE))

    assert answer.headers["X-Pdf-Fallback"] == "html"
    assert known_api.post(body(**DEGRADE)).status_code == 200


def assert_no_html(answer: Any) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")


@pytest.mark.parametrize("of", ["nobody", "a viewer"])
def test_without_a_database_a_key_that_was_never_allowed_gets_no_html(api, worker_lives, of: str) -> None:
    if of == "a viewer":
        api.user.groups.clear()
        assert api.post(body(**DEGRADE)).status_code == 403

    with no_database():
        assert_no_html(api.post(body(**DEGRADE)))


@pytest.mark.parametrize("is_large", [True, False], ids=["large", "compressed"])
def test_without_a_database_a_large_or_compressed_body_gets_no_html(known_api, monkeypatch, is_large: bool) -> None:
    if is_large:
        monkeypatch.setattr(without_database, "MOST_BODY", 500)
    headers = {} if is_large else {"content-encoding": "gzip"}

    with no_database():
        assert_no_html(known_api.post(body(**DEGRADE), **headers))


def test_without_a_database_a_process_makes_one_document_at_a_time(known_api, monkeypatch) -> None:
    seen = []
    html = Document.html

    def ask_meanwhile(kind: Document, variables: Any) -> str:
        if not seen:
            seen.append(known_api.post(body(**DEGRADE)))
        return html(kind, variables)

    monkeypatch.setattr(Document, "html", ask_meanwhile)

    with no_database():
        answer = known_api.post(body(**DEGRADE))

    assert answer.headers["X-Pdf-Fallback"] == "html"
    assert_no_html(seen[0])


def test_labels_that_are_too_many_are_refused_before_a_code_is_drawn(api, monkeypatch) -> None:
    monkeypatch.setattr(labels, "qr_code", lambda _: pytest.fail("it was drawn"))
    sample = body("labels", **DEGRADE)
    sample["variables"]["labels"] = [{**sample["variables"]["labels"][0], "code": "x" * 300}] * 1000

    answer = api.post(sample)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "DOCUMENT_TOO_LARGE")


def test_without_a_database_and_without_a_key_there_is_no_html(client) -> None:
    with no_database():
        answer = client.post("/pdf/jobs", body(**DEGRADE), content_type="application/json")

    assert answer.status_code in (401, 503)
    assert "X-Pdf-Fallback" not in answer.headers


def test_without_a_database_asking_is_503(api) -> None:
    with no_database():
        answers = [api.get("0199f3a0-0000-7000-8000-000000000000"), api.list()]

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")


def test_fallback_pages_hold_no_script_and_load_nothing(api) -> None:
    page = api.post(body(**DEGRADE)).content.decode()

    assert "<script" not in page
    assert 'src="http' not in page
    assert "sandbox" in api.post(body(**DEGRADE)).headers["Content-Security-Policy"]
