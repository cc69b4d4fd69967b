"""What PDF jobs are called in the console."""

from django.utils.translation import gettext_lazy as _

from kilit.console.labels import label
from pdfjobs.models import PdfJob

label(
    PdfJob,
    _("PDF job"),
    _("PDF jobs"),
    template_name=_("template"),
    timeout=_("timeout"),
    created_at=_("created at"),
    queued_at=_("queued at"),
    started_at=_("started at"),
    finished_at=_("finished at"),
    lease_until=_("lease until"),
)
