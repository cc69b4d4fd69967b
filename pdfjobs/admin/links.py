"""Links on a job's page: an operator chooses how long one works, and copies it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import with_copy_button
from kilit.console.jobs.job_page import JobPageAdmin
from kilit.lock.models import Activity, ActivityKind
from kilit.spans import moment
from pdfjobs.links import LINK_CREATED, DeadLinkError, create_link
from pdfjobs.models import PdfJob
from pdfjobs.states import PDF_JOBS, PdfStatus

LIVES = {
    "hour": (timedelta(hours=1), gettext_lazy("for 1 hour")),
    "day": (timedelta(days=1), gettext_lazy("for 1 day")),
    "week": (timedelta(days=7), gettext_lazy("for 7 days")),
}
LONGEST = timedelta(days=7)
UNTIL_DELETED = "file"


def choices(row: PdfJob) -> Iterator[tuple[str, Any]]:
    """Return how long a link may work: the spans that the file outlives, or as long as the file is kept."""
    if row.status != PdfStatus.SUCCEEDED or row.finished_at is None:
        return
    left = row.finished_at + settings.PDF_TTL - timezone.now()
    yield from ((name, label) for name, (life, label) in LIVES.items() if life < left)
    if timedelta(0) < left < LONGEST:
        yield UNTIL_DELETED, _("until the PDF is deleted")


class PdfLinkAdmin(JobPageAdmin):
    """Lets operators create a link to the PDF of a job that has succeeded."""

    def reader_context(self, request: HttpRequest, row: PdfJob) -> dict[str, Any]:
        may_share = self.has_operate_permission(request, str(row.pk))
        return {
            **super().reader_context(request, row),
            "link_choices": list(choices(row)) if may_share else [],
            "link_href": self.address("link", row.pk),
        }

    def create_link(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        if not self.has_operate_permission(request, object_id):
            raise PermissionDenied
        if row is None:
            raise Http404
        if request.method == "POST":  # logging in again leads here without the form
            life, _label = LIVES.get(request.POST.get("life", ""), (LONGEST, ""))
            try:
                self._show_link(request, row, life)
            except DeadLinkError:
                messages.warning(request, _("No link was created: there is no PDF, or it is about to be deleted."))
        return HttpResponseRedirect(self.back_address([row.pk], filters=request.POST.get("filters", ""), from_row=True))

    def _show_link(self, request: HttpRequest, row: PdfJob, life: timedelta) -> None:
        with transaction.atomic():
            link = create_link(row, life=life)
            Activity.objects.record(ActivityKind.ACTION, LINK_CREATED, queue=PDF_JOBS.queue, object_id=row.job_id)
        sentence = _("Everyone who has this link can download the PDF until %(time)s:")
        url = request.build_absolute_uri(reverse("pdf-link", args=[link.token]))
        messages.success(
            request, with_copy_button(sentence % {"time": moment(link.expires_at)}, url, what=_("the link"))
        )

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.create_link)
        return [path("<path:object_id>/link/", view, name=self.view_name("link")), *super().get_urls()]
