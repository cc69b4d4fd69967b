"""One job per document, however many callers request it at once."""

import threading
from typing import Any

import pytest
from django.db import connection

from kilit.lock.models import Event
from kilit.sentences import english
from pdfjobs import rendering
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.models.job import PdfJobQuerySet
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PdfApi, body, bring, some_user
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def test_fifty_identical_requests_at_once_make_one_job(api, worker_lives, in_threads) -> None:
    rendering.engine_version()  # cached now, or fifty processes would be started to find it out
    together = threading.Barrier(50)

    def post(_: int) -> tuple[int, str]:
        together.wait(timeout=PATIENCE)
        answer = PdfApi.post(api)
        return answer.status_code, answer.json()["job_id"]

    answers = in_threads(post, count=50)

    assert PdfJob.objects.count() == 1
    assert {job_id for _, job_id in answers} == {PdfJob.objects.get().job_id}
    assert sorted(status for status, _ in answers) == [200] * 49 + [201]


def test_looking_first_and_inserting_then_would_make_many(in_threads, sql) -> None:
    """The race is real: without the index every caller that saw nothing inserts."""
    owner = some_user()
    sql("ALTER TABLE pdfjobs_pdfjob RENAME TO with_index")
    sql("CREATE TABLE pdfjobs_pdfjob (LIKE with_index INCLUDING DEFAULTS)")
    start = threading.Barrier(4)

    def look_and_insert(number: int) -> int:
        seen = PdfJob.objects.filter(job_key="k").count()
        start.wait(timeout=PATIENCE)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO pdfjobs_pdfjob (id, owner_id, job_key, status, template_name, payload, options, timeout,"
                " artifact_key, artifact_digest, error_code, error_detail, retry_count)"
                " SELECT gen_random_uuid(), %s, 'k', 'queued', '', '{}', '{}', '1 minute', '', '', '', '', 0"
                " WHERE %s = 0",
                [owner.pk, seen],
            )
            return cursor.rowcount

    try:
        assert in_threads(look_and_insert, count=4) == [1, 1, 1, 1]
    finally:
        sql("DROP TABLE pdfjobs_pdfjob")
        sql("ALTER TABLE with_index RENAME TO pdfjobs_pdfjob")


def test_a_lost_file_noticed_by_many_is_made_anew_once(api, worker_lives, in_threads) -> None:
    old, _ = enqueue(api.user, parse_job_request(body()))
    artifacts.delete(bring(old, "succeeded").artifact_key)

    answers = in_threads(lambda _: PdfApi.post(api).json()["job_id"], count=16)

    assert len(set(answers)) == 1
    assert PdfJob.objects.exclude(pk=old.pk).get().job_id == answers[0]
    last: Any = Event.objects.of(old).last()
    assert (last.to_state, english(last.message)) == ("expired", "Its file is missing.")


def test_a_job_in_the_middle_of_its_retry_keeps_its_key(api, worker_lives, in_threads, monkeypatch) -> None:
    """Between failed and queued the key is free in that transaction only: a caller waits for it and finds the job."""
    job, _ = enqueue(api.user, parse_job_request(body()))
    bring(job, "running")
    is_failed, is_answered = threading.Event(), threading.Event()
    move_each = PdfJobQuerySet.move_each

    def dawdle(rows: PdfJobQuerySet, verb: str, **changes: Any) -> Any:
        if verb == "retry":
            is_failed.set()
            is_answered.wait(timeout=1)  # no caller is answered before the transaction ends, so this time passes
        return move_each(rows, verb, **changes)

    monkeypatch.setattr(PdfJobQuerySet, "move_each", dawdle)

    def fail_or_post(number: int) -> Any:
        if number == 0:
            return PdfJob.objects.filter(pk=job.pk).fail(code="NAVIGATION_TIMEOUT", detail="slow").retried
        assert is_failed.wait(timeout=PATIENCE)
        found = PdfApi.post(api).json()["job_id"]
        is_answered.set()
        return found

    assert in_threads(fail_or_post, count=3) == [{job.pk}, job.job_id, job.job_id]
    assert PdfJob.objects.get().retry_count == 1


def test_twenty_workers_share_a_hundred_jobs_without_meeting(make_job, in_threads) -> None:
    for _ in range(100):
        make_job()

    def claim(_: int) -> list[Any]:
        mine = []
        while claimed := PdfJob.objects.claim():
            mine += claimed
        return mine

    shares = in_threads(claim, count=20)

    claimed = [job.pk for share in shares for job in share]
    assert len(claimed) == len(set(claimed)) == 100


def test_an_operators_retry_gives_way_to_a_newer_job(api, worker_lives) -> None:
    old, _ = enqueue(api.user, parse_job_request(body()))
    bring(old, "failed")
    newer, _ = enqueue(api.user, parse_job_request(body()))

    assert PdfJob.objects.filter(pk=old.pk).retry_selected() == set()
    bring(newer, "failed")

    retried = PdfJob.objects.filter(pk__in=[old.pk, newer.pk]).retry_selected()

    assert len(retried) == 1
    assert sorted(PdfJob.objects.values_list("status", flat=True)) == ["failed", "queued"]
