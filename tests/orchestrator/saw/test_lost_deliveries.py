"""Every way in which a file may be with the saw without our knowing, and those in which all is known."""

from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from django.db.models.functions import Now

from kilit.api.errors import ApiError
from kilit.lock.leases import MOST_LAPSES, ClaimLost
from orchestrator.models import Job
from orchestrator.saw import delivery, saw_handover
from orchestrator.workflow import steps
from orchestrator.workflow.decisions import cancel, hand_over, retry
from orchestrator.workflow.runner import tick
from tests.support.cutting_handover import is_unknown, rejected, solved_job, too_late, with_the_saw
from tests.support.cutting_runs import due_again, let_leases_lapse, player, work_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once", "customer")]


def test_a_share_that_is_away_when_the_time_is_over(floor) -> None:
    job = with_the_saw(floor)
    away = floor.saw.with_name("away")
    floor.saw.rename(away)
    too_late(job)

    work_until(job, "FAILED")

    assert is_unknown(job)
    away.rename(floor.saw)
    hand_over(job.pk)
    work_until(job, "DONE", machines=player(floor, only="saw"))
    assert len(list(floor.processed.iterdir())) == 1
    assert list(floor.inbox.iterdir()) == []


def test_an_unexpected_error_while_the_saw_has_the_file(floor) -> None:
    job = with_the_saw(floor)
    (cut,) = floor.inbox.iterdir()
    cut.unlink()
    due_again(job)

    with patch.object(steps, "collect_answers", side_effect=ZeroDivisionError):
        tick(patient=True)

    assert is_unknown(job)


def test_a_job_that_lost_too_many_runners_while_the_saw_has_the_file(floor) -> None:
    job = with_the_saw(floor)
    (cut,) = floor.inbox.iterdir()
    cut.unlink()
    due_again(job)
    Job.objects.claim()
    Job.objects.filter(pk=job.pk).update(lapse_count=MOST_LAPSES - 1)
    let_leases_lapse()

    assert saw_handover.release_lapsed() == 1

    assert is_unknown(job)


def test_a_runner_that_dies_right_after_the_delivery(floor) -> None:
    """The next one finds the file nowhere, and does not deliver it again."""
    job = solved_job(floor)
    due_again(job)
    place = delivery.place

    def place_and_die(*args: Path) -> None:
        place(*args)
        args[1].unlink()  # the saw is fast
        raise ClaimLost("as if it were dead")

    with patch.object(delivery, "place", place_and_die):
        tick(patient=True)
    let_leases_lapse()
    tick(patient=True)

    assert is_unknown(job)
    assert list(floor.inbox.iterdir()) == []


def test_a_file_that_the_saw_takes_while_an_earlier_attempt_is_settled(floor) -> None:
    """Someone put a rejected file back into the inbox, and the saw takes it at the moment we want it back."""
    job = rejected(floor)
    retry(job.pk)
    (refused,) = floor.failed.iterdir()
    back = refused.rename(floor.inbox / refused.name)
    replace = Path.replace

    def vanish(path: Path, target: Path) -> Path:
        if path.name == back.name:
            path.unlink(missing_ok=True)
        return replace(path, target)

    due_again(job)
    with patch.object(Path, "replace", vanish):
        work_until(job, "FAILED", "DONE")

    assert is_unknown(job)
    assert job.open_deliveries == [back.name]


def test_a_file_that_the_saw_takes_while_its_job_is_cancelled(floor) -> None:
    job = rejected(floor)
    retry(job.pk)
    (refused,) = floor.failed.iterdir()
    back = refused.rename(floor.inbox / refused.name)

    def vanish(path: Path, _target: Path) -> Path:
        path.unlink()
        raise FileNotFoundError(path)

    with patch.object(Path, "replace", vanish), pytest.raises(ApiError, match=f"the saw has taken {back.name}"):
        cancel(job.pk)

    job.refresh_from_db()
    assert job.status == "NEW"


def test_what_was_rejected_or_taken_back_is_known(floor) -> None:
    """A retry is enough, although the files are gone by then."""
    job = with_the_saw(floor)
    too_late(job)
    work_until(job, "FAILED")
    assert (job.error_code, job.open_deliveries) == ("E_OSI_ACK_TIMEOUT", [])
    assert list(floor.inbox.iterdir()) == []
    retry(job.pk)
    due_again(job)
    work_until(job, "XML_READY")
    due_again(job)
    tick(patient=True)
    player(floor, only="saw", saw_fault="failed").look()
    due_again(job)
    work_until(job, "FAILED")
    assert (job.error_code, job.open_deliveries) == ("E_OSI_ACK_FAILED", [])
    for path in floor.failed.iterdir():
        path.unlink()

    retry(job.pk)
    due_again(job)
    work_until(job, "DONE", machines=player(floor, only="saw"))

    assert len(list(floor.processed.iterdir())) == 1


def test_a_disk_that_is_full_leaves_nothing_unknown(floor) -> None:
    job = solved_job(floor)
    due_again(job)

    with patch.object(delivery, "write_temp", side_effect=OSError(28, "No space left on device")):
        tick(patient=True)
        Job.objects.filter(pk=job.pk).update(xml_ready_at=Now() - timedelta(minutes=6), next_run_at=Now())
        work_until(job, "FAILED")

    assert (job.error_code, job.open_deliveries) == ("E_OSI_ACK_TIMEOUT", [])
