"""Demo data: one job for each template, and a failed one."""

from contextlib import suppress

from django.contrib.auth.models import User
from django.db import transaction

from kilit.lock.audit import acting_as
from pdfjobs.documents import documents
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.states import ErrorCode

BROKEN = "invoice.html, line 12: Invalid block tag 'endfro', expected 'endfor' (demo)"


def load_demo(*, owner: User) -> None:
    """Create the jobs once. Nothing is created without a browser, because a job's key needs its version."""
    if owner.pdf_jobs.exists():
        return
    bodies = [{"template_name": document.name, "variables": document.sample} for document in documents()]
    with suppress(RenderError), acting_as("demo"):
        for body in bodies:
            enqueue(owner, parse_job_request(body))
        if bodies:
            with transaction.atomic():  # so that no worker claims it
                job, _ = enqueue(owner, parse_job_request({**bodies[0], "options": {"landscape": True}}))
                own_row = PdfJob.objects.filter(pk=job.pk)
                own_row.claim()
                own_row.fail(code=ErrorCode.TEMPLATE_ERROR, detail=BROKEN)
