"""A stored file that was changed is not served, and operators learn of it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from kilit.lock.models import Activity, Event
from kilit.problems.registry import Severity, find_problems
from kilit.sentences import english
from tests.support.dashboard import text_of
from tests.support.pdf_jobs import PDF, bring, new_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def change_file(api, artifact_folder) -> Callable[[bytes], Any]:
    def change(content: bytes) -> Any:
        job = bring(new_job(api.user), "succeeded")
        (artifact_folder / job.artifact_key).write_bytes(content)
        return job

    return change


@pytest.mark.parametrize("content", [PDF[:-1], PDF.replace(b"%%EOF", b"%%E0F")], ids=["shorter", "other bytes"])
@pytest.mark.parametrize("headers", [{}, {"range": "bytes=0-3"}], ids=["whole", "a part"])
def test_a_changed_file_is_not_sent(api, worker_lives, change_file, content: bytes, headers: dict[str, str]) -> None:
    job = change_file(content)

    answer = api.download(job.pk, **headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "FILE_CHANGED")
    assert english(Event.objects.of(job).last().message) == "Its file was changed after it was stored."
    assert Activity.objects.get(verb="FILE_CHANGED").object_id == job.job_id
    assert api.download(job.pk).json()["error"]["code"] == "EXPIRED"
    assert api.post().status_code == 201


def test_a_changed_file_is_a_problem_for_a_day_and_stays_to_be_examined(
    change_file, admin_client, artifact_folder, sql
) -> None:
    job = change_file(b"%PDF-1.4 other")

    answer = admin_client.get(f"/admin/pdfjobs/pdfjob/{job.pk}/file/")

    assert answer.status_code == 410
    assert answer.text.startswith("The file was changed after it was stored")
    (problem,) = [problem for problem in find_problems(answer.wsgi_request.user) if problem.kind == "file-changed"]
    assert (problem.title, problem.severity) == ("1 stored PDF was changed", Severity.CRITICAL)
    page = text_of(admin_client, problem.link)
    assert "Its file was changed after it was stored." in page
    assert "The stored file was changed after it was rendered. It is no longer served" in page
    assert "Request the document again to render a new PDF." in page
    assert f"pdfs/{job.pk}/" in page
    assert "The file and the variables are deleted." not in page
    assert (artifact_folder / job.artifact_key).exists()
    with transaction.atomic():
        sql("SET LOCAL session_replication_role = replica")
        sql("UPDATE lock_activity SET created_at = now() - interval '25 hours'")
    assert not any(problem.kind == "file-changed" for problem in find_problems(answer.wsgi_request.user))
