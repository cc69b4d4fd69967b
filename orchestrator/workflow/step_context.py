"""What all steps stand on: moving under the claim, the database's clock, this machine's folders."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from orchestrator.files.folders import Folders
from orchestrator.models import Job


def advance(job: Job, verb: str, message: str, **changes: Any) -> None:
    """Move on, and tell the timeline why in words."""
    with for_reason(message):
        job.advance(verb, **changes)


def age(job: Job, column: str) -> timedelta:
    """Return how long ago something was, by the database's clock."""
    since = ExpressionWrapper(Now() - F(column), output_field=DurationField())
    return Job.objects.values_list(since, flat=True).get(pk=job.pk) or timedelta(0)


def folders_here() -> Folders:
    """Return this machine's folders, made when they are our own."""
    folders = Folders.from_settings()
    folders.prepare()
    return folders


def poll() -> timedelta:
    """Return how long to leave a folder alone between two looks."""
    return timedelta(seconds=settings.FLOOR_POLL)
