"""PDF jobs on the dashboard."""

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_lazy

from kilit.console.dashboard.panels import Panel, PanelItem
from pdfjobs.models import PdfJob
from pdfjobs.queue import QUEUE


class PdfPanel(Panel):
    icon = "picture_as_pdf"
    queue = QUEUE
    oldest_means = gettext_lazy("How long the oldest waiting job has been queued.")
    note = gettext_lazy("Every failed attempt counts, even if the job was retried.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        row = PdfJob.objects.due().order_by("queued_at", "id").first()
        if row is None:
            return None
        name = row.document_number or f"…{row.job_id[-12:]}"
        return PanelItem(name, self.row_address(row.pk), row.template_name, row.queued_at)
