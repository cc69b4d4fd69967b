"""The list and the pages of batch jobs: bulk actions and imports."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.jobs import BatchJob
from kilit.batches.states import BulkState
from kilit.console.formatting import badge, column, page, since
from kilit.console.lists.listing import ReadOnlyAdmin

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

COLOURS = {BulkState.READY: "warning", BulkState.DONE: "success", BulkState.CANCELLED: ""}


def _badge(job: BatchJob) -> SafeString:
    return badge(str(job.lifecycle.labels[job.status]), COLOURS.get(job.status, "info" if job.is_working else "danger"))


state = column("state", gettext_lazy("state"), _badge)
asked_by = column("asked_by", gettext_lazy("requested by"), lambda job: str(job.asked_by or "-"))
age = column("age", gettext_lazy("age"), lambda job: since(job.created_at), order="id")


class BatchJobAdmin(ReadOnlyAdmin):
    page_title: ClassVar["StrOrPromise"]
    progress_template: ClassVar[str]  # it refreshes itself
    views: Callable[[], dict[str, Callable[..., HttpResponseBase]]]  # besides a job's page, by the end of an address
    context: Callable[[HttpRequest, Any], dict[str, object]]  # of a job's page and its progress

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        return page(
            self,
            request,
            "admin/console/batch_job.html",
            title=str(self.page_title),
            is_own_page=True,
            progress_template=self.progress_template,
            **self.context(request, self.find(request, object_id)),
        )

    def progress_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return TemplateResponse(request, self.progress_template, self.context(request, self.find(request, object_id)))

    def get_urls(self) -> list[object]:
        views = {"progress": self.progress_view, **self.views()}
        own = [
            path(f"<str:object_id>/{name}/", self.admin_site.admin_view(view), name=self.view_name(name))
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def find(self, request: HttpRequest, object_id: str) -> Any:
        if not self.has_view_permission(request):
            raise PermissionDenied
        job = self.get_object(request, unquote(object_id))
        if job is None:
            raise Http404
        return job

    def to_page(self, job: BatchJob) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.address("change", job.pk))

    def refuse(self, request: HttpRequest, job: BatchJob) -> None:
        job.refresh_from_db()
        state = job.lifecycle.labels[job.status]
        messages.warning(request, _("Nothing was changed. Its state: %(state)s.") % {"state": state})
