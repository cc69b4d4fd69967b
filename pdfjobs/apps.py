"""The PDF queue, as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PdfJobsConfig(AppConfig):
    """Registers the queue's doorbell, sweeps and metrics."""

    name = "pdfjobs"
    verbose_name = _("PDF documents")

    def ready(self) -> None:
        from kilit.backup import files  # noqa: PLC0415
        from kilit.workers import doorbells  # noqa: PLC0415
        from kilit.workers.metrics import registry  # noqa: PLC0415
        from pdfjobs import checks, sweeps, work  # noqa: F401, PLC0415
        from pdfjobs.backup import PdfFiles  # noqa: PLC0415
        from pdfjobs.metrics import PdfCollector  # noqa: PLC0415

        doorbells.register(work.BELL, is_due=work.is_due, answer=work.answer)
        sweeps.register()
        files.register(PdfFiles())
        registry.register(PdfCollector())
