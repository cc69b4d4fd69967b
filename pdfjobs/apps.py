"""The PDF queue."""

from datetime import timedelta

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PdfJobsConfig(AppConfig):
    name = "pdfjobs"
    verbose_name = _("PDF documents")

    def ready(self) -> None:
        from kilit.api.webhooks import register_webhook_kinds  # noqa: PLC0415
        from kilit.backup.files import register_file_source  # noqa: PLC0415
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.metrics import register_oldest, registry  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from pdfjobs import checks, cleanup, operations, webhooks, work  # noqa: PLC0415
        from pdfjobs.backup import PdfFiles  # noqa: PLC0415
        from pdfjobs.metrics import PdfCollector, oldest_queued  # noqa: PLC0415
        from pdfjobs.models import PdfJob  # noqa: PLC0415
        from pdfjobs.states import PDF_JOBS  # noqa: PLC0415

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
        register_file_source(PdfFiles())
        registry.register(PdfCollector())
        register_oldest(PDF_JOBS.queue, oldest_queued)
        register_webhook_kinds(*webhooks.KINDS)
