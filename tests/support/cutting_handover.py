"""Jobs on their way to the saw, and jobs of which it is not known whether the saw has cut them."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.db.models.functions import Now

from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.workflow import steps
from orchestrator.workflow.decisions import approve
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import GOVDE, make_job
from tests.support.cutting_runs import command, due_again, player, work_until


def solved_job(floor: Folders) -> Job:
    """Return a job of mode C that is about to be delivered."""
    job = make_job(opti_mode="C", parts=[GOVDE])
    work_until(job, "HOLD")
    player(floor, only="opti").look()
    approve(job.pk)
    with patch.dict(steps.STEPS, {"XML_READY": lambda *_: timedelta(0)}):
        tick(patient=True, stopping=Job.objects.filter(status="XML_READY").exists)
    return work_until(job, "XML_READY")


def with_the_saw(floor: Folders) -> Job:
    """Return a job whose file is in the saw's inbox."""
    job = solved_job(floor)
    due_again(job)
    tick(patient=True)
    job.refresh_from_db()
    assert [path.name for path in floor.inbox.iterdir()] == job.open_deliveries
    return job


def rejected(floor: Folders) -> Job:
    """Return a job whose file the saw moved to failed/."""
    job = with_the_saw(floor)
    player(floor, only="saw", saw_fault="failed").look()
    due_again(job)
    return work_until(job, "FAILED")


def handed_over(floor: Folders, settings: Any) -> Job:
    """Return a job of mode A whose file lies before the saw, and that is due again."""
    settings.OPTI_COMMAND = command(floor)
    job = make_job()
    work_until(job, "XML_READY")
    tick(patient=True)
    assert len(list(floor.inbox.iterdir())) == 1
    due_again(job)
    return job


def too_late(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(handed_at=Now() - timedelta(minutes=6), next_run_at=Now())


def of_unknown_handover(floor: Folders) -> Job:
    """Return a job whose file the saw took out of the inbox, and shows nowhere."""
    job = with_the_saw(floor)
    (cut,) = floor.inbox.iterdir()
    cut.unlink()
    too_late(job)
    return work_until(job, "FAILED")


def is_unknown(job: Job) -> bool:
    job.refresh_from_db()
    names = ", ".join(job.open_deliveries)
    return (job.status, job.error_code) == ("FAILED", "E_HANDOVER_UNKNOWN") and names in job.error_message
