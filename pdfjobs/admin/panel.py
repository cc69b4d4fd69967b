"""PDF jobs on the dashboard."""

from collections.abc import Iterator, Mapping

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import number
from kilit.console.panels import Concern, Panel, PanelItem
from pdfjobs.admin.columns import COLOURS
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.rendering import sandbox_warning
from pdfjobs.states import PDF_JOBS, PdfStatus


class PdfPanel(Panel):
    title = gettext_lazy("PDF documents")
    icon = "picture_as_pdf"
    table, model, colours = PDF_JOBS, PdfJob, COLOURS
    well, badly = (PdfStatus.SUCCEEDED,), (PdfStatus.FAILED,)
    oldest_means = gettext_lazy("How long the oldest waiting job has been queued.")
    stuck_means = gettext_lazy("Their worker's lease has lapsed; the scheduled task pdf_reap takes them back.")
    note = gettext_lazy("Every failed attempt counts, even if the job was retried.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        row = PdfJob.objects.due().order_by("queued_at", "id").first()
        return PanelItem(row.template_name, self.row_address(row.pk), since=row.queued_at) if row else None

    def stuck(self, user: User | AnonymousUser) -> PdfJobQuerySet:
        return PdfJob.objects.held_too_long().order_by("lease_until")

    def item(self, row: PdfJob) -> PanelItem:
        return PanelItem(row.template_name, self.row_address(row.pk), f"…{row.job_id[-12:]}", row.started_at)

    def concerns(self, user: User | AnonymousUser, totals: Mapping[str, int]) -> Iterator[Concern]:
        if totals[PdfStatus.QUEUED] >= settings.PDF_QUEUE_LIMIT:
            hint = _("New jobs are rejected until fewer than KILIT_PDF_QUEUE_LIMIT wait.")
            waiting = PanelItem(_("%(rows)s jobs waiting") % {"rows": number(totals[PdfStatus.QUEUED])})
            yield Concern(_("The queue is full"), hint, [waiting], "danger", href=self.list_address(status="queued"))
        if warning := sandbox_warning():
            yield Concern(_("No sandbox"), "", [PanelItem(warning)])
