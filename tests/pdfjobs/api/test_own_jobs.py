"""A caller's own jobs: listed by state and time, cancelled and deleted."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.models import Event
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PdfApi, bring, files, new_job, some_user
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = pytest.mark.django_db


def ids(answer: Any) -> list[str]:
    return [job["job_id"] for job in answer.json()["jobs"]]


def test_the_list_has_the_callers_own_jobs_newest_first(api, make_job) -> None:
    own = [make_job(status, owner=api.user) for status in ("queued", "succeeded", "failed")]
    make_job(owner=some_user("other"))

    listed = api.list()

    assert ids(listed) == [job.job_id for job in own[::-1]]
    assert listed.json()["jobs"][1] == api.get(own[1].pk).json()
    assert "next_cursor" not in listed.json()


def test_the_list_of_a_state(api, make_job) -> None:
    waiting, done = make_job(owner=api.user), make_job("succeeded", owner=api.user)

    assert ids(api.list(status="queued")) == [waiting.job_id]
    assert ids(api.list(status="succeeded")) == [done.job_id]
    assert ids(api.list(status="expired")) == []


@pytest.mark.parametrize("query", [{}, {"status": "queued"}])
def test_pages_are_stable_while_jobs_come_and_go(api, make_job, query: dict[str, Any]) -> None:
    jobs = [make_job(owner=api.user).job_id for _ in range(5)]

    first = api.list(limit=2, **query)
    make_job(owner=api.user)
    second = api.list(limit=2, cursor=first.json()["next_cursor"], **query)
    third = api.list(limit=2, cursor=second.json()["next_cursor"], **query)

    assert ids(first) + ids(second) + ids(third) == jobs[::-1]
    assert "next_cursor" not in third.json()


def test_the_list_of_a_time(api, make_job) -> None:
    old, new = make_job(owner=api.user), make_job(owner=api.user)
    PdfJob.objects.filter(pk=old.pk).update(created_at=Now() - timedelta(minutes=30))
    middle = timezone.now() - timedelta(minutes=15)

    assert ids(api.list(created_after=middle.isoformat())) == [new.job_id]
    assert ids(api.list(created_before=middle.isoformat())) == [old.job_id]
    hour_ago = (middle - timedelta(hours=1)).isoformat()
    assert ids(api.list(created_after=hour_ago, created_before=timezone.now().isoformat())) == [new.job_id, old.job_id]
    assert ids(api.list(created_after=hour_ago, created_before=hour_ago)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "done"),
        ("created_after", "yesterday"),
        ("created_after", "2026-11-15T12:00:00"),  # without an offset
        ("created_before", "0001-01-01T00:00:00Z"),
        ("created_before", "9999-12-31T23:59:59Z"),
        ("limit", "0"),
        ("limit", "201"),
        ("cursor", "x"),
        ("owner", "1"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(api, name: str, value: str) -> None:
    answer = api.list(**{name: value})

    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, name)


def test_a_viewer_lists_and_deletes_nothing() -> None:
    viewer = PdfApi(some_user("viewer", role="viewer"))
    job = new_job(viewer.user)

    assert ids(viewer.list()) == [job.job_id]
    assert viewer.delete(job.pk).status_code == 403
    assert viewer.get(job.pk).json()["status"] == "queued"


def test_deleting_what_waits_cancels_it(api) -> None:
    job = new_job(api.user)

    answer = api.delete(job.pk)

    assert (answer.status_code, answer.json()["status"]) == (200, "expired")
    assert PdfJob.objects.claim() == []
    event = Event.objects.of(job).last()
    assert event
    assert (event.from_state, event.to_state, event.actor) == ("queued", "expired", "key:shop:test")


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed"])
def test_deleting_removes_the_file_and_what_is_personal(api, artifact_folder, status: str) -> None:
    job = bring(new_job(api.user), status)
    assert job.recipient

    assert api.delete(job.pk).status_code == 200

    job.refresh_from_db()
    assert (job.status, job.artifact_key, job.recipient) == ("expired", "", "")
    assert (job.payload, job.options, job.error_detail) == ({}, {}, "")
    assert files(artifact_folder) == []


def test_deleting_again_answers_the_same_and_records_nothing(api) -> None:
    job = bring(new_job(api.user), "succeeded")

    first, second = api.delete(job.pk), api.delete(job.pk)

    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert Event.objects.of(job).filter(to_state="expired").count() == 1


def test_what_is_being_rendered_is_not_deleted(api) -> None:
    job = bring(new_job(api.user), "running")

    answer = api.delete(job.pk)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["state"]) == (409, "MOVE_REFUSED", "running")
    assert api.get(job.pk).json()["status"] == "running"


def test_another_users_job_is_not_deleted(api) -> None:
    job = new_job(some_user("other"))

    assert api.delete(job.pk).status_code == 404
    assert PdfJob.objects.get().status == "queued"


def test_a_store_that_does_not_answer_leaves_the_job_as_it_is(api, monkeypatch) -> None:
    job = bring(new_job(api.user), "succeeded")

    def fail(_: str) -> None:
        raise artifacts.StorageUnavailable("down")

    monkeypatch.setattr(artifacts, "delete", fail)

    assert api.delete(job.pk).json()["error"]["code"] == "PDF_STORE_UNAVAILABLE"
    assert api.get(job.pk).json()["status"] == "succeeded"


def test_a_job_that_finishes_during_the_deletion_is_deleted_with_its_file(api, artifact_folder, monkeypatch) -> None:
    """The file that the deletion did not see must not stay behind, nor its job lose it."""
    job, expire = new_job(api.user), cleanup.expire
    meanwhile = iter([lambda: bring(job, "succeeded")])

    def expire_late(rows: Any, **options: Any) -> Any:
        keys = rows.values_list("artifact_key", flat=True)
        assert list(keys) in ([""], [PdfJob.objects.get().artifact_key])
        for happen in meanwhile:
            monkeypatch.setattr(cleanup.PdfJobQuerySet, "expire", expiring_after(happen))
        return expire(rows, **options)

    moved = cleanup.PdfJobQuerySet.expire

    def expiring_after(happen: Any) -> Any:
        def late(rows: Any) -> Any:
            monkeypatch.setattr(cleanup.PdfJobQuerySet, "expire", moved)
            happen()
            return moved(rows)

        return late

    monkeypatch.setattr(cleanup, "expire", expire_late)

    assert api.delete(job.pk).json()["status"] == "expired"
    assert files(artifact_folder) == []
    assert [event.to_state for event in Event.objects.of(job)] == ["queued", "running", "succeeded", "expired"]


@pytest.mark.django_db(transaction=True)
def test_a_deletion_that_meets_a_claim_waits_for_it_and_is_refused(api, in_threads) -> None:
    job = new_job(api.user)
    is_claimed = threading.Event()

    def claim_or_delete(number: int) -> Any:
        if number:
            assert is_claimed.wait(timeout=PATIENCE)
            return api.delete(job.pk).json()["error"]["state"]
        with transaction.atomic():
            claimed = PdfJob.objects.claim()
            is_claimed.set()
            wait_until(has_waiter, every=0.01)
        return [job.pk for job in claimed]

    assert in_threads(claim_or_delete, count=2) == [[job.pk], "running"]


@pytest.mark.django_db(transaction=True)
def test_of_claims_and_deletions_at_once_each_job_goes_one_way(api, make_job, in_threads) -> None:
    jobs = [make_job(owner=api.user).pk for _ in range(20)]
    together = threading.Barrier(8)

    def claim_or_delete(number: int) -> list[Any]:
        together.wait(timeout=PATIENCE)
        if number % 2:
            mine = []
            while claimed := PdfJob.objects.claim():
                mine += [job.pk for job in claimed]
            return mine
        own = PdfApi(api.user) if number else api
        return [pk for pk in jobs[number // 2 :: 4] if own.delete(pk).status_code == 200]

    outcomes = in_threads(claim_or_delete, count=8)

    gone = sorted(pk for outcome in outcomes for pk in outcome)
    assert gone == sorted(jobs)  # each once: claimed or deleted
    for job in PdfJob.objects.all():
        assert [event.to_state for event in Event.objects.of(job)] == ["queued", job.status]
