"""Pausing a queue in the console: who may, what the list, the dashboard and a waiting job then say, and Resume."""

from collections.abc import Callable

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.batches.queues import queues
from kilit.lock.models import Event, QueuePause
from kilit.problems.registry import ProblemAction, SeesEverything, find_problems
from kilit.workers.doorbells import doorbells
from kilit.workers.models import Heartbeat
from orchestrator.models import Job
from orchestrator.orders.enqueue import BELL
from orchestrator.states import JOBS
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import text_of
from tests.support.outbox import make_endpoint
from tests.support.queue_rows import LISTS, rows_of

pytestmark = pytest.mark.django_db

PAUSED = [name for name, queue in queues.items() if queue.paused_title]


@pytest.fixture
def owner(make_person: Callable[..., Client]) -> Client:
    """One who may pause every queue."""
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    return make_person("ayse", role="owner")


@pytest.mark.parametrize("queue", PAUSED)
def test_a_queue_is_paused_and_resumed_by_those_who_may(queue: str, owner: Client, make_person) -> None:
    viewer, address = make_person("ali", role="viewer"), LISTS[queue]
    row = rows_of(queue).waiting()
    assert f'href="{address}pause/"' in owner.get(address).text
    refused = owner.post(f"{address}pause/", {"reason": " "})
    paused = owner.post(f"{address}pause/", {"reason": "New <b>paper</b>"}, follow=True)

    assert "This field is required." in refused.text
    assert paused.redirect_chain == [(address, 302)]
    assert f'href="{address}pause/"' not in paused.text
    assert "The queue is paused by ayse</strong>" in paused.text
    assert "<span data-stored>New &lt;b&gt;paper&lt;/b&gt;</span>" in paused.text
    assert f'action="{address}resume/"' in paused.text
    assert "The queue is paused by ayse: New" in text_of(owner, f"{address}{row.pk}/change/")
    seen_by_viewer = viewer.get(address).text
    assert "The queue is paused by ayse" in seen_by_viewer
    assert f'action="{address}resume/"' not in seen_by_viewer
    assert viewer.post(f"{address}pause/", {"reason": "Mine"}).status_code == 403
    assert viewer.post(f"{address}resume/").status_code == 403
    assert owner.get(f"{address}resume/").status_code == 302, "a page opened again after a login"
    assert QueuePause.objects.exists()

    resumed = owner.post(f"{address}resume/", follow=True)

    assert "The queue is resumed." in resumed.text
    assert "The queue is paused" not in resumed.text
    assert list(Event.objects.filter(event_type__startswith="QUEUE_").order_by("id").values_list("queue", "actor")) == [
        (queue, "admin:ayse"),
        (queue, "admin:ayse"),
    ]


@pytest.mark.parametrize("queue", PAUSED)
def test_the_dashboard_names_the_pause_and_ends_it_with_one_click(queue: str, owner: Client, make_person) -> None:
    address, title = LISTS[queue], queues[queue].paused_title % {"person": "ayse"}
    resume = ProblemAction("Resume", f"{address}resume/", is_done_at_once=True)
    make_endpoint()
    owner.post(f"{address}pause/", {"reason": "Stocktaking"})

    page = owner.get("/admin/").text
    (problem,) = (each for each in find_problems(SeesEverything()) if each.kind == "paused")

    assert (problem.title, problem.cause, problem.action) == (title, "Stocktaking", resume)
    assert title in page
    assert f'action="{address}resume/"' in page
    assert f'action="{address}resume/"' not in make_person("ali", role="viewer").get("/admin/").text
    owner.post(f"{address}resume/", {"next": "/admin/"})
    assert not QueuePause.objects.exists()


def test_what_optiplanning_or_the_saw_has_goes_on_during_a_pause(owner, sql) -> None:
    new, begun = make_job(order_id="new"), make_job(order_id="begun", opti_mode="C")
    started = Job.objects.filter(pk=begun.pk)
    started.move("prepare")
    started.move("import_files", imported_at=Now())
    started.move("start", opti_started_at=Now(), attempt_started_at=Now())
    QueuePause.objects.pause(JOBS, reason="Stocktaking")
    sql("UPDATE orchestrator_job SET next_run_at = now() - interval '1 hour'")

    assert "The queue is paused" not in text_of(owner, f"{LISTS['cutting_job']}{begun.pk}/change/")
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
