"""Downloads of a job's sheets. OptiPlanning empties its import folder, but the same plan gives the same bytes."""

import hashlib
from contextlib import suppress

from django.conf import settings

from orchestrator.errors import JobError
from orchestrator.files.folders import Folders
from orchestrator.models import Job
from orchestrator.planning.excel import render_sheets
from orchestrator.workflow.step_context import plan_for


def sheet(job: Job, number: int) -> tuple[str, bytes] | None:
    """Return the name and bytes of one sheet as OptiPlanning got it, or None if it is no longer available."""
    if not 0 <= number < len(job.files):
        return None
    name, sha256 = job.files[number]["name"], job.files[number]["sha256"]
    folders = Folders.from_settings()
    if settings.FLOOR_IS_HERE:
        with suppress(OSError):
            content = (folders.imports / name).read_bytes()
            if hashlib.sha256(content).hexdigest() == sha256:
                return name, content
    # Rendered again it is the same file, unless the rules or the template changed since.
    with suppress(JobError, OSError):
        for rendered, content in render_sheets(job.pk, plan_for(job, folders), folders):
            if (rendered.name, rendered.sha256) == (name, sha256):
                return name, content
    return None
