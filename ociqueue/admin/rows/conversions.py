"""Conversions in the console: read-only rows, and the operators' actions."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import button
from kilit.console.jobs.job_page import JobOffer
from kilit.lock.models.error_groups import Group
from kilit.masking import mask_identifiers
from ociqueue.admin.base import columns
from ociqueue.admin.imports import pages as imports
from ociqueue.admin.rows import blockers, description
from ociqueue.admin.rows.actions import MARK_FAILED, RESET, RETRY
from ociqueue.admin.rows.adjusting import adjust_page, adjustment_offers
from ociqueue.admin.rows.adjustment_history import adjustments_context
from ociqueue.admin.rows.correcting import correct_page
from ociqueue.admin.rows.history import history_page
from ociqueue.admin.rows.uploadable import UploadableAdmin
from ociqueue.files import failed as dead_letters
from ociqueue.intake.corrected_rows import why_not
from ociqueue.intake.corrections import read_id
from ociqueue.models import Conversion
from ociqueue.models.conversion import FAILURES
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating.failure_groups import expected_groups, groups_of_wrong_data
from ociqueue.operating.operations import QUEUE
from ociqueue.states import WAITING, AdjustmentKind


@admin.register(Conversion)
class ConversionAdmin(UploadableAdmin):
    queue = QUEUE
    description = description.CONVERSION
    find_blockers = staticmethod(blockers.reasons)
    failures = FAILURES
    operator_actions = (RETRY, RESET, MARK_FAILED)
    row_name = staticmethod(columns.row_name)
    more_template = "admin/ociqueue/adjustments.html"
    read_id = staticmethod(read_id)

    list_display = columns.COLUMNS
    search_help_text = _("Source key, order id or click id: the first letters are enough")
    actions_list = ["error_groups", "import_csv", "dead_letters", "history"]
    fieldsets = columns.FIELDSETS
    export_fields = dead_letters.FIELDS
    export_masks = {
        **dict.fromkeys(Conversion.CLICK_IDS, dead_letters.mask_click_id),
        "errorMessage": mask_identifiers,
    }
    pages_with_filters = (*UploadableAdmin.pages_with_filters, "/history-file/")

    # What is shown

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        return super().get_queryset(request).select_related("replaces")

    def detail_context(self, row: Any) -> dict[str, Any]:
        return {**super().detail_context(row), **adjustments_context(row)}

    # Actions

    def offers(self, request: HttpRequest, row: Any) -> dict[str, JobOffer]:
        offered = super().offers(request, row)
        if not self.has_operate_permission(request, str(row.pk)):
            return offered
        if not why_not(row):
            label = _("Correct") if row.status in WAITING else _("Correct and resend")
            correct = JobOffer(label, "edit", self.address("correct", row.pk))
            offered = {"correct": correct, **offered}
        return {**offered, **adjustment_offers(self, row)}

    def correct(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return correct_page(self, request, object_id)

    def retract(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return adjust_page(self, request, object_id, kind=AdjustmentKind.RETRACTION)

    def change_value(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return adjust_page(self, request, object_id, kind=AdjustmentKind.RESTATEMENT)

    def export_lines(self, rows: Any, **options: Any) -> Iterator[str]:
        """Leave out what was corrected already: the file is there to be corrected and imported."""
        return super().export_lines(rows.not_replaced(), **options)

    def group_advice(self, names: list[str]) -> dict[str, str]:
        text = _(
            "The data is wrong, so a retry would fail again. Correct a row on its page, or export these rows, correct "
            "the file and import it."
        )
        return dict.fromkeys(groups_of_wrong_data(names), str(text))

    def expected_groups(self, groups: list[Group]) -> set[str]:
        return expected_groups({group.name: group.code for group in groups})

    # Pages of the list

    @button(description=_("Import CSV"), icon="upload", permissions=["operate"], url_path="import")
    def import_csv(self, request: HttpRequest) -> HttpResponse:
        return imports.import_page(self, request)

    @button(description=_("Export conversions"), icon="history", permissions=["view"], url_path="history-file")
    def history(self, request: HttpRequest) -> HttpResponseBase:
        return history_page(self, request)

    def import_template(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_operate_permission(request):
            raise PermissionDenied
        return imports.template_file(request)

    def get_urls(self) -> list[object]:
        view = self.admin_site.admin_view
        return [
            path("import/template/", view(self.import_template), name=self.view_name("import_template")),
            path("<path:object_id>/correct/", view(self.correct), name=self.view_name("correct")),
            path("<path:object_id>/retract/", view(self.retract), name=self.view_name("retract")),
            path("<path:object_id>/change-value/", view(self.change_value), name=self.view_name("change_value")),
            *super().get_urls(),
        ]
