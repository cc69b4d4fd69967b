"""Pausing a queue in the console: who may, what the list, the dashboard and a waiting job then say, and Resume."""

from collections.abc import Callable

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.lock.models import Event, QueuePause
from kilit.problems.registry import SeesEverything, find_problems
from kilit.workers.doorbells import doorbells
from kilit.workers.models import Heartbeat
from orchestrator.models import Job
from orchestrator.orders.enqueue import BELL
from orchestrator.states import JOBS
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db

LISTS = {"pdf": "/admin/pdfjobs/pdfjob/", "cutting_job": "/admin/orchestrator/job/"}
TITLES = {"pdf": "PDF queue paused by ayse", "cutting_job": "Cutting queue paused by ayse"}


@pytest.fixture
def operator(make_person: Callable[..., Client]) -> Client:
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    return make_person("ayse", role="operator")


@pytest.mark.parametrize("queue", LISTS)
def test_an_operator_pauses_and_resumes_a_queue(queue, operator, make_person) -> None:
    viewer, address = make_person("ali", role="viewer"), LISTS[queue]
    assert f'href="{address}pause/"' in operator.get(address).text
    refused = operator.post(f"{address}pause/", {"reason": " "})
    paused = operator.post(f"{address}pause/", {"reason": "New <b>paper</b>"}, follow=True)

    assert "This field is required." in refused.text
    assert paused.redirect_chain == [(address, 302)]
    assert f'href="{address}pause/"' not in paused.text
    assert "The queue is paused by ayse</strong>" in paused.text
    assert "<span data-stored>New &lt;b&gt;paper&lt;/b&gt;</span>" in paused.text
    assert f'action="{address}resume/"' in paused.text
    seen_by_viewer = viewer.get(address).text
    assert "The queue is paused by ayse" in seen_by_viewer
    assert f'action="{address}resume/"' not in seen_by_viewer

    resumed = operator.post(f"{address}resume/", follow=True)

    assert "The queue is resumed." in resumed.text
    assert "The queue is paused" not in resumed.text
    assert list(Event.objects.order_by("id").values_list("queue", "event_type", "actor")) == [
        (queue, "QUEUE_PAUSED", "operator:ayse"),
        (queue, "QUEUE_RESUMED", "operator:ayse"),
    ]


@pytest.mark.parametrize("queue", LISTS)
def test_the_dashboard_names_the_pause_and_ends_it_with_one_click(queue, operator, make_person) -> None:
    address = LISTS[queue]
    operator.post(f"{address}pause/", {"reason": "Stocktaking"})

    page = operator.get("/admin/").text
    (problem,) = (each for each in find_problems(SeesEverything()) if each.kind == "paused")

    assert (problem.title, problem.cause, problem.action) == (TITLES[queue], "Stocktaking", None)
    assert TITLES[queue] in page
    assert f'action="{address}resume/"' in page
    assert f'action="{address}resume/"' not in make_person("ali", role="viewer").get("/admin/").text
    operator.post(f"{address}resume/", {"next": "/admin/"})
    assert not QueuePause.objects.exists()


@pytest.mark.parametrize("address", LISTS.values())
def test_viewers_neither_pause_nor_resume(address, make_person) -> None:
    viewer = make_person(role="viewer")
    QueuePause.objects.pause(PDF_JOBS, reason="Stocktaking")
    QueuePause.objects.pause(JOBS, reason="Stocktaking")

    assert viewer.post(f"{address}pause/", {"reason": "Mine"}).status_code == 403
    assert viewer.post(f"{address}resume/").status_code == 403
    assert QueuePause.objects.count() == 2


def test_a_page_opened_again_after_a_login_resumes_nothing(operator) -> None:
    QueuePause.objects.pause(PDF_JOBS, reason="Stocktaking")

    assert operator.get("/admin/pdfjobs/pdfjob/resume/").status_code == 302
    assert QueuePause.objects.exists()


def test_waiting_jobs_say_that_their_queue_is_paused(operator, admin_user) -> None:
    pdf = PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice")
    order = make_job()
    for address in LISTS.values():
        operator.post(f"{address}pause/", {"reason": "Stocktaking"})

    for row, address in ((pdf, LISTS["pdf"]), (order, LISTS["cutting_job"])):
        assert "The queue is paused by ayse: Stocktaking" in text_of(operator, f"{address}{row.pk}/change/")


def test_what_optiplanning_or_the_saw_has_goes_on_during_a_pause(operator, sql) -> None:
    new, begun = make_job(order_id="new"), make_job(order_id="begun", opti_mode="C")
    started = Job.objects.filter(pk=begun.pk)
    started.move("prepare")
    started.move("import_files", imported_at=Now())
    started.move("start", opti_started_at=Now(), attempt_started_at=Now())
    QueuePause.objects.pause(JOBS, reason="Stocktaking")
    sql("UPDATE orchestrator_job SET next_run_at = now() - interval '1 hour'")

    assert "The queue is paused" not in text_of(operator, f"{LISTS['cutting_job']}{begun.pk}/change/")
    assert doorbells[BELL].is_due()
    assert Job.objects.claim() == begun
    assert Job.objects.claim() is None
    assert not doorbells[BELL].is_due()
    assert [problem.kind for problem in find_problems(SeesEverything()) if problem.part == "cutting_job"] == ["paused"]
    QueuePause.objects.resume(JOBS)
    assert Job.objects.claim() == new


def test_a_paused_queue_wakes_no_job_for_optiplanning(sql) -> None:
    make_job(opti_mode="C")
    Job.objects.move("prepare")
    Job.objects.move("import_files", imported_at=Now(), manual_trigger_approved=True)
    sql("UPDATE orchestrator_job SET next_run_at = now() + interval '1 minute'")
    QueuePause.objects.pause(JOBS, reason="Stocktaking")

    assert not doorbells[BELL].is_due()
    assert Job.objects.wake_next() == 0
    QueuePause.objects.resume(JOBS)
    assert doorbells[BELL].is_due()
