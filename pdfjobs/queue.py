"""The queue of PDF jobs."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.access.key_scopes import KeyScope
from kilit.api.queue_api import QueueApi
from kilit.backup.files import register_file_source
from kilit.batches.queues import Keeping, Queue, register
from kilit.lock.management.arguments import A_YEAR_OF_MINUTES, whole_number
from kilit.workers.doorbells import due_for_long
from kilit.workers.sweeps import Sweep, SweepOption
from pdfjobs import checks, cleanup, webhooks, work
from pdfjobs.backup import PdfFiles
from pdfjobs.errors import ERRORS
from pdfjobs.metrics import PdfCollector, oldest_queued
from pdfjobs.models import PdfJob
from pdfjobs.operations import EXPIRE, FILTERS, RETRY
from pdfjobs.states import PDF_JOBS, PdfStatus

QUEUE = Queue(
    PDF_JOBS,
    PdfJob,
    FILTERS,
    (RETRY, EXPIRE),
    title=_("PDF documents"),
    errors=ERRORS,
    work=work.run_due_jobs,
    untaken=lambda: due_for_long(PdfJob.objects.claimable(), "queued_at"),
    sweeps=[
        Sweep(
            "pdf_reap",
            every=timedelta(seconds=15),
            run=work.recover,
            about=_("Takes jobs back from workers that died or hang."),
            due=lambda: [PdfJob.objects.held_too_long()],
            preview=lambda: f"Would reap {PdfJob.objects.held_too_long().count()}.",
        ),
        Sweep(
            "pdf_cleanup",
            every=timedelta(hours=1),
            run=lambda ttl=None: cleanup.clean(ttl=ttl).format(),
            about=_("Expires old jobs, and deletes their files and orphaned ones."),
            preview=lambda ttl: cleanup.preview(ttl=ttl).format("Would expire {}, remove {}"),
            options=[
                SweepOption(
                    "--ttl-hours",
                    "ttl",
                    whole_number(least=0, most=A_YEAR_OF_MINUTES // 60),
                    unit=timedelta(hours=1),
                    help="instead of KILIT_PDF_TTL_HOURS",
                )
            ],
        ),
    ],
    free_text=(),
    kept_names=("recipient",),  # a document is kept, with whom it is for
    keeping=Keeping.FOREVER,  # without their files
    well=(PdfStatus.SUCCEEDED,),
    paused_title=_("PDF queue paused by %(person)s"),
    oldest=oldest_queued,
    metrics=[PdfCollector()],
    webhooks=webhooks.KINDS,
    api=QueueApi(
        "pdf/",
        "pdfjobs.api.urls",
        tags={"PDF": "Documents rendered from templates."},
        kinds={"/pdf/": "api_pdf"},
        scopes={KeyScope.ENQUEUE: _("documents")},
    ),
)
register(QUEUE)
checks.register_checks()
register_file_source(PdfFiles())
