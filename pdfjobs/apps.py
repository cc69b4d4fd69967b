"""The PDF queue, as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PdfJobsConfig(AppConfig):
    """Registers the queue's doorbell, sweeps and metrics."""

    name = "pdfjobs"
    verbose_name = _("PDF documents")

    def ready(self) -> None:
        """Register once all models are known."""
        from lifecycle.metrics import registry  # noqa: PLC0415
        from lifecycle.workers import bells  # noqa: PLC0415
        from pdfjobs import checks, sweeps, work  # noqa: F401, PLC0415
        from pdfjobs.metrics import PdfCollector  # noqa: PLC0415

        bells.register(work.BELL, is_due=work.is_due, answer=work.answer)
        sweeps.register()
        registry.register(PdfCollector())
