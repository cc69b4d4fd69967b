"""PDF jobs in the console."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.clickjacking import xframe_options_sameorigin

from kilit.console.dashboard.queue_pauses import PausableQueueAdmin
from kilit.console.jobs.blockers import lease_holdings
from kilit.console.jobs.priorities import PriorityAdmin
from kilit.console.lists.actions import Action
from kilit.masking import mask_personal_data
from pdfjobs import operations
from pdfjobs.admin import blockers, columns, description
from pdfjobs.admin.links import PdfLinkAdmin
from pdfjobs.enqueue import expire_changed
from pdfjobs.file_response import ArtifactChangedError, ArtifactMissingError, file_response
from pdfjobs.models import PdfJob
from pdfjobs.models.job import FAILURES
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.rendering import sandbox_warning
from pdfjobs.states import WAITING, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable
from pdfjobs.warnings import MOST_NAMED, missing_characters

RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Retried"),
    effect=_(
        "They are queued again with two retries. A job is skipped if the same document was requested again in the "
        "meantime."
    ),
    icon="replay",
    is_done_at_once=True,
    undo="undo_retry",
)
EXPIRE = Action(
    operations.EXPIRE,
    title=_("Expire"),
    done=_("Expired"),
    effect=_("Their files and variables are deleted permanently. A new request for the document creates a new job."),
    icon="delete_forever",
    is_dangerous=True,
)
# Without the variables, which may contain personal data.
EXPORT_FIELDS = {
    "id": "job_id",
    "owner": "owner.username",
    "template": "template_name",
    "jobKey": "job_key",
    "retries": "retry_count",
    "errorCode": "error_code",
    "errorDetail": "error_detail",
    "createdAt": "created_at",
    "failedAt": "finished_at",
}


@admin.register(PdfJob)
class PdfJobAdmin(PdfLinkAdmin, PriorityAdmin, PausableQueueAdmin):
    queue = operations.QUEUE
    state_badge = staticmethod(columns.state_badge)
    description = description.PDF_JOB
    find_blockers = staticmethod(blockers.reasons)
    find_holdings = staticmethod(lease_holdings)
    failures = FAILURES
    row_name = staticmethod(columns.row_name)
    operator_actions = (RETRY, EXPIRE)
    priority_states = WAITING
    pause_title = _("Pause the PDF queue?")
    pause_effect = _(
        "Workers take no more jobs until the queue is resumed. Jobs that are being rendered finish, and new requests "
        "are accepted and wait."
    )

    list_display = columns.COLUMNS
    list_select_related = ["owner"]
    list_before_template = "admin/pdfjobs/sandbox.html"
    search_help_text = _("Number, recipient or owner: the first letters are enough")
    more_template = "admin/pdfjobs/preview.html"
    fieldsets = columns.FIELDSETS
    export_fields = EXPORT_FIELDS
    export_masks = {"errorDetail": mask_personal_data}
    export_states = [PdfStatus.FAILED]

    def get_queryset(self, request: HttpRequest) -> PdfJobQuerySet:
        jobs: PdfJobQuerySet = super().get_queryset(request)
        return jobs.defer("payload", "options")  # megabytes, which only a job's page shows

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"sandbox_warning": sandbox_warning(), **(extra_context or {})})

    def detail_context(self, row: PdfJob) -> dict[str, Any]:
        has_file = row.status == PdfStatus.SUCCEEDED
        return {
            **super().detail_context(row),
            "missing_characters": missing_characters(row)[:MOST_NAMED],
            "request_parts": columns.request_of(row) if row.status != PdfStatus.EXPIRED else [],
            "file_url": reverse("admin:pdfjobs_pdfjob_file", args=[row.pk]) if has_file else "",
        }

    def file_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None or row.status != PdfStatus.SUCCEEDED:
            raise Http404
        try:
            return file_response(request, row, as_attachment="download" in request.GET)
        except (ArtifactMissingError, StorageUnavailable):
            return HttpResponse(
                gettext("The file does not exist."), status=410, content_type="text/plain; charset=utf-8"
            )
        except ArtifactChangedError:
            expire_changed(row)
            text = gettext("The file was changed after it was stored, so it is not shown. The job is expired.")
            return HttpResponse(text, status=410, content_type="text/plain; charset=utf-8")

    def get_urls(self) -> list[object]:
        view = xframe_options_sameorigin(self.admin_site.admin_view(self.file_view))
        return [path("<str:object_id>/file/", view, name="pdfjobs_pdfjob_file"), *super().get_urls()]
