"""Downloads: whole or in part, with ETags, and never half a file."""

import hashlib
from typing import Any

import pytest

from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, bring, new_job

pytestmark = pytest.mark.django_db

SIZE = len(PDF)


@pytest.fixture
def job(api) -> PdfJob:
    return bring(new_job(api.user), "succeeded")


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


def test_the_whole(api, job) -> None:
    answer = api.download(job.pk)

    assert content(answer) == PDF
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Length"] == str(SIZE)
    assert answer.headers["ETag"] == f'"{hashlib.sha256(PDF).hexdigest()}"'
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{job.document_number}.pdf"'


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=5-9", 5, 9),
        ("bytes=1000-", 1000, SIZE - 1),
        ("bytes=-7", SIZE - 7, SIZE - 1),
        (f"bytes=-{SIZE * 2}", 0, SIZE - 1),
        (f"bytes=10-{SIZE * 2}", 10, SIZE - 1),
    ],
)
def test_a_part(api, job, asked: str, first: int, last: int) -> None:
    answer = api.download(job.pk, range=asked)

    assert answer.status_code == 206
    assert content(answer) == PDF[first : last + 1]
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/{SIZE}"
    assert answer.headers["Content-Length"] == str(last - first + 1)


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", f"bytes={SIZE + 5}-{SIZE + 9}", "bytes=-0"])
def test_a_part_beyond_the_end_is_416(api, job, asked: str) -> None:
    answer = api.download(job.pk, range=asked)

    assert answer.status_code == 416
    assert answer.headers["Content-Range"] == f"bytes */{SIZE}"
    error = answer.json()["error"]
    assert (error["code"], error["size"]) == ("RANGE_NOT_SATISFIABLE", SIZE)


@pytest.mark.parametrize("asked", ["bytes=5-2", "lines=1-2", "bytes=0-1,5-6", "bytes=-", "bytes=x-y", "nonsense"])
def test_a_range_that_says_nothing_gets_the_whole(api, job, asked: str) -> None:
    answer = api.download(job.pk, range=asked)

    assert (answer.status_code, content(answer)) == (200, PDF)


def test_a_current_copy_is_304(api, job) -> None:
    etag = f'"{job.artifact_digest}"'

    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = api.download(job.pk, if_none_match=given)
        assert (answer.status_code, answer.content) == (304, b"")
    assert content(api.download(job.pk, if_none_match='"other"')) == PDF


def test_a_part_of_another_version_is_not_sent(api, job) -> None:
    same = api.download(job.pk, range="bytes=0-3", if_range=f'"{job.artifact_digest}"')
    other = api.download(job.pk, range="bytes=0-3", if_range='"other"')

    assert (same.status_code, content(same)) == (206, PDF[:4])
    assert (other.status_code, content(other)) == (200, PDF)


@pytest.mark.parametrize("status", ["queued", "running"])
def test_an_unfinished_job_is_202(api, status: str) -> None:
    job = bring(new_job(api.user), status)

    answer = api.download(job.pk)

    assert (answer.status_code, answer.json()["status"]) == (202, status)
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize(("status", "answer", "code"), [("failed", 409, "UNKNOWN"), ("expired", 410, "EXPIRED")])
def test_a_job_that_has_no_file_says_why(api, status: str, answer: int, code: str) -> None:
    job = bring(new_job(api.user), status, code="UNKNOWN")

    given = api.download(job.pk)

    assert (given.status_code, given.json()["error"]["code"]) == (answer, code)


@pytest.mark.parametrize("headers", [{}, {"if_none_match": "*"}, {"range": f"bytes={SIZE}-"}])
def test_a_lost_file_is_never_304_and_is_rendered_again(api, job, worker_lives, headers: dict[str, str]) -> None:
    artifacts.delete(job.artifact_key)

    answer = api.download(job.pk, **headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "EXPIRED")
    assert api.get(job.pk).json()["status"] == "expired"
    assert api.post().status_code == 201


def test_a_head_tells_the_same_without_opening_the_file(api, job, monkeypatch) -> None:
    address = f"/pdf/jobs/{job.pk}/download"
    monkeypatch.setattr(artifacts, "open_file", lambda _: 1 / 0)

    answer = api.client.head(address, headers=api.headers)
    assert (answer.status_code, answer.headers["Content-Length"]) == (200, str(SIZE))
    artifacts.delete(job.artifact_key)
    assert api.client.head(address, headers=api.headers).status_code == 410
