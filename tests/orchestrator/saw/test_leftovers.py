"""Hidden files that killed runners left behind are removed, with a record; files that a runner may need are not."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.lock.leases import new_lease
from kilit.lock.models import Event
from kilit.sentences import english
from orchestrator.models import Job
from orchestrator.saw import saw_handover
from orchestrator.saw.delivery import deliver, withdraw
from orchestrator.saw.leftovers import LEFTOVER_REMOVED, LeftoverWatch, remove_stale
from orchestrator.workflow import watching
from orchestrator.workflow.runner import tick
from tests.support.cutting_handover import too_late, with_the_saw
from tests.support.floor import age
from tests.support.kills import KILLED, before, fork

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once", "customer")]


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def records(job: Job) -> list[str]:
    return [event.message for event in Event.objects.of(job).filter(event_type=LEFTOVER_REMOVED)]


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_a_file_that_a_killed_runner_took_back_is_removed_by_the_next_runner(floor) -> None:
    """It is killed after the failure is stored, and before it removes the file."""
    job = with_the_saw(floor)
    too_late(job)
    assert fork(lambda: tick(patient=True), before(saw_handover, "discard")) == KILLED
    job.refresh_from_db()
    assert (job.status, job.open_deliveries) == ("FAILED", [])
    (left,) = hidden(floor.inbox)
    age(left, 7200)

    stop = threading.Event()
    watcher = watching.Watcher(stop, lambda: stop.set() if not hidden(floor.inbox) else None)
    watcher.take_quick_steps()

    assert list(floor.inbox.iterdir()) == []
    assert list(map(english, records(job))) == [f"Removed {left.name}, which a stopped runner had left behind."]
    assert Event.objects.of(job).last().actor.startswith("runner:")


def taken_back(job: Job, floor: Any) -> Path:
    (name,) = job.open_deliveries
    withdraw(name, floor, keep=True)
    (path,) = hidden(floor.inbox)
    age(path, 7200)
    return path


@pytest.mark.parametrize("reason", ["it is open", "a runner has the job", "it is recent", "it is of another floor"])
def test_a_file_that_may_be_needed_stays(floor, reason: str) -> None:
    job = with_the_saw(floor)
    path = taken_back(job, floor)
    rows = Job.objects.filter(pk=job.pk)
    if reason != "it is open":
        rows.update(open_deliveries=[])
    if reason == "a runner has the job":
        rows.update(**new_lease(Now() - Now()))
    if reason == "it is recent":
        path.touch()
    if reason == "it is of another floor":
        path = path.rename(floor.inbox / path.name.replace(str(job.pk), "11111111-2222-3333-4444-555555555555"))

    remove_stale(floor)

    assert hidden(floor.inbox) == [path]
    assert records(job) == []


def test_what_a_killed_runner_was_writing_is_removed_too(floor) -> None:
    job = with_the_saw(floor)
    ours = [floor.inbox / f".{job.pk}_a1.xml.0a1b2c3d.part", floor.imports / f".{job.pk}_GOVDE.xlsx.0a1b2c3d.part"]
    for path in (*ours, floor.inbox / ".kilit-0a1b2c3d.part"):
        path.touch()
        age(path, 7200)

    with acting_as("runner:test"):
        remove_stale(floor)

    assert hidden(floor.inbox) == hidden(floor.imports) == []
    assert len(records(job)) == 2


def test_a_delivery_leaves_files_that_were_taken_back_alone(floor) -> None:
    """Of another job, whose runner is about to record that the saw does not have it."""
    path = taken_back(with_the_saw(floor), floor)

    deliver(b"<Plan/>", "11111111-2222-3333-4444-555555555555_a1.xml", floor)

    assert hidden(floor.inbox) == [path]


def test_a_share_that_is_away_is_looked_at_later(floor) -> None:
    floor.saw.rename(floor.saw.with_name("away"))

    LeftoverWatch().look()
