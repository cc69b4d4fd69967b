"""PDF jobs in the console: blockers, error groups, and long lists."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.workers import sweeps
from kilit.workers.models import Heartbeat, SweepRun
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import new_job, some_user

pytestmark = pytest.mark.django_db

LIST = "/admin/pdfjobs/pdfjob/"


def blockers_of(client, job: PdfJob) -> list[str]:
    answer = client.get(f"{LIST}{job.pk}/change/")
    assert answer.status_code == 200
    return [reason.sentence for reason in answer.context["blockers"]]


def test_a_lapsed_lease_names_the_sweep_and_whether_it_runs(make_person, make_job, worker_lives) -> None:
    job, client = make_job("running"), make_person()
    sweeps.reconcile()
    SweepRun.objects.update(taken_at=Now(), succeeded=True)
    PdfJob.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(minutes=5))

    (sentence,) = blockers_of(client, job)
    assert sentence.endswith("has not reported; the scheduled task pdf_reap takes it back.")
    SweepRun.objects.update(taken_at=Now() - timedelta(hours=1))
    assert blockers_of(client, job)[1].startswith("The scheduled task pdf_reap is overdue")


@pytest.mark.usefixtures("worker_lives")
def test_a_job_that_waits_for_the_store_says_so(make_person, make_job, artifact_folder) -> None:
    make_job("succeeded")
    job, client = make_job(), make_person()
    assert blockers_of(client, job)[0].startswith("Nothing: it is due")

    (artifact_folder / "pdfs").rename(artifact_folder / "away")

    (sentence,) = blockers_of(client, job)
    assert sentence.startswith("PDF files cannot be stored. Workers continue when they can. The storage says: ")
    assert sentence.endswith("does not exist; is its disk mounted?")


@pytest.mark.usefixtures("worker_lives")
def test_a_job_that_could_not_be_stored_waits_before_it_is_rendered_again(make_person, make_job) -> None:
    job, client = make_job("running"), make_person()

    PdfJob.objects.filter(pk=job.pk).fail(code="STORAGE_UNAVAILABLE", detail="No space left on device")

    assert PdfJob.objects.claim() == []
    (sentence,) = blockers_of(client, job)
    assert sentence.startswith("The PDF could not be stored. It is rendered again at ")
    PdfJob.objects.update(queued_at=Now())
    assert [claimed.pk for claimed in PdfJob.objects.claim()] == [job.pk]


@pytest.mark.usefixtures("worker_lives")
@pytest.mark.parametrize(("limit", "running"), [(1, "1 running job"), (2, "2 running jobs")])
def test_a_job_whose_owner_is_at_the_limit_says_so(make_person, settings, limit: int, running: str) -> None:
    settings.PDF_JOBS_PER_OWNER = limit
    *_, last = [new_job(number=number) for number in range(limit + 1)]
    for _ in range(limit):
        PdfJob.objects.claim()

    assert blockers_of(make_person(), last) == [f"Its owner has {running}, as many as KILIT_PDF_JOBS_PER_OWNER allows."]


def test_a_job_that_the_last_worker_is_not_for_says_so(make_person, settings, worker_lives) -> None:
    settings.PDF_FREE_WORKERS = 1
    Heartbeat.objects.filter(pk=worker_lives.pk).update(workers=2)
    new_job(some_user("other"))
    PdfJob.objects.due().expire()
    _, last = [new_job(number=number) for number in range(2)]
    PdfJob.objects.claim()

    assert blockers_of(make_person(), last) == [
        "Its owner has a running job, and the last worker stays free for other owners (KILIT_PDF_FREE_WORKERS)."
    ]
