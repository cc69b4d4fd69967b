"""Checks, bulk actions, problems, doorbell, sweeps, metrics, webhooks and files of PDF jobs."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.api.webhooks import register_webhook_kinds
from kilit.backup.files import register_file_source
from kilit.batches.queues import register_queue
from kilit.problems.queues import register_queue_problems
from kilit.workers.doorbells import register_doorbell
from kilit.workers.metrics import register_oldest, registry
from kilit.workers.sweeps import register_sweep
from pdfjobs import checks, cleanup, operations, problems, webhooks, work
from pdfjobs.backup import PdfFiles
from pdfjobs.metrics import PdfCollector, oldest_queued
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS

checks.register_checks()
register_doorbell(work.BELL, due=lambda: [PdfJob.objects.claimable()], handler=work.run_due_jobs)
register_sweep(
    "pdf_reap",
    every=timedelta(seconds=15),
    run=work.reap,
    about=_("Takes jobs back from workers that died or hang."),
    due=lambda: [PdfJob.objects.held_too_long()],
)
register_sweep(
    "pdf_cleanup",
    every=timedelta(hours=1),
    run=lambda: cleanup.clean().format(),
    about=_("Expires old jobs, and deletes their files and orphaned ones."),
)
register_queue(operations.QUEUE)
register_queue_problems(operations.QUEUE, *problems.SOURCES)
register_file_source(PdfFiles())
registry.register(PdfCollector())
register_oldest(PDF_JOBS.queue, oldest_queued)
register_webhook_kinds(*webhooks.KINDS)
