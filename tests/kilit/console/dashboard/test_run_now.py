"""Run now: a scheduled task becomes due at once, unless it is running; a supervisor starts it."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.utils import timezone

from kilit.problems.processes import ScheduledTask
from kilit.workers import sweeps
from kilit.workers.models import Heartbeat, SweepRun
from tests.support.dashboard import text_of

pytestmark = pytest.mark.django_db

PAGE, TASK = "/admin/workers/", "pdf_cleanup"
RUN = f"{PAGE}{TASK}/run/"


@pytest.fixture
def all_ran() -> None:
    """Every task has just run, so none is due."""
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    sweeps.reconcile()
    SweepRun.objects.update(taken_at=Now(), started_at=Now(), finished_at=Now(), succeeded=True)


def test_an_operator_makes_a_task_due_and_a_supervisor_takes_it(all_ran, make_person) -> None:
    operator = make_person("ayse", role="operator")
    assert sweeps.take_due() == []
    assert f'action="{RUN}"' in operator.get(PAGE).text

    answer = operator.post(RUN, follow=True)

    assert answer.redirect_chain == [(f"{PAGE}#sweep-{TASK}", 302)]
    assert "pdf_cleanup is due now; a worker runs it." in answer.text
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_repr, entry.get_change_message()) == ("ayse", TASK, "Run now.")
    shown = ScheduledTask(sweeps.sweeps[TASK], SweepRun.objects.get(name=TASK), timezone.now())
    assert shown.condition.word == "OK"
    assert sweeps.take_due() == [TASK]
    assert sweeps.take_due() == []


@pytest.mark.parametrize(
    "columns",
    [{"started_at": Now(), "finished_at": None}, {"taken_at": Now(), "started_at": None, "finished_at": None}],
    ids=["it runs", "it was just started"],
)
def test_a_task_that_is_running_is_not_started_again(columns, all_ran, make_person) -> None:
    SweepRun.objects.filter(name=TASK).update(**columns)

    answer = make_person(role="operator").post(RUN, follow=True)

    assert "pdf_cleanup is running already." in answer.text
    assert sweeps.take_due() == []
    assert not LogEntry.objects.exists()


def test_a_task_whose_worker_died_can_be_run_again(all_ran, make_person, sql) -> None:
    SweepRun.objects.filter(name=TASK).update(started_at=Now() - sweeps.ENDS_WITHIN * 2, finished_at=None)
    sql("UPDATE workers_sweeprun SET taken_at = started_at WHERE name = %s", TASK)

    make_person(role="operator").post(RUN)

    assert sweeps.take_due() == [TASK]


def test_a_task_that_is_due_already_stays_so(all_ran, make_person) -> None:
    Heartbeat.objects.all().delete()
    long_ago = timezone.now() - sweeps.sweeps[TASK].every * 3
    SweepRun.objects.filter(name=TASK).update(taken_at=long_ago, started_at=long_ago, finished_at=long_ago)

    answer = make_person(role="operator").post(RUN, follow=True)

    assert "It runs when a worker is started." in answer.text
    assert SweepRun.objects.get(name=TASK).taken_at == long_ago


def test_viewers_start_nothing_and_unknown_tasks_are_not_found(all_ran, make_person) -> None:
    viewer, operator = make_person("ali", role="viewer"), make_person("ayse", role="operator")

    assert "Run now" not in text_of(viewer, PAGE)
    assert viewer.post(RUN).status_code == 403
    assert operator.post(f"{PAGE}unknown/run/").status_code == 404
    assert operator.get(RUN).status_code == 302
    assert sweeps.take_due() == []
