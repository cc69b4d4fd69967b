"""Adjustments in the console: read-only rows, and the operators' actions."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.jobs.job_page import JobDescription, JobOffer, Offers
from kilit.masking import mask_identifiers
from ociqueue.admin.base import columns
from ociqueue.admin.base.site_header import CONVERSIONS_MENU
from ociqueue.admin.rows import adjustment_columns, description
from ociqueue.admin.rows.description import MARK_ADJUSTMENT_FAILED, RESET_ADJUSTMENT, RETRY_ADJUSTMENT, UploadableAdmin
from ociqueue.files import exports as dead_letters
from ociqueue.intake.adjustments import why_not_adjust
from ociqueue.models import Adjustment
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.problems.adjustment_blockers import reasons
from ociqueue.queue import ADJUSTMENT_QUEUE
from ociqueue.states import AdjustmentKind


def change_value(row: Adjustment, _offers: Offers, _user: object) -> JobOffer | None:
    """Offer another value, which takes the place of the one that was wrong."""
    if row.is_retraction or row.is_overtaken or why_not_adjust(row.original, AdjustmentKind.RESTATEMENT):
        return None
    return JobOffer(_("Change the value again"), columns.row_page("change_value", row.original_id))


@admin.register(Adjustment)
class AdjustmentAdmin(UploadableAdmin):
    menu = CONVERSIONS_MENU.tab(1)
    queue = ADJUSTMENT_QUEUE
    actions = (RETRY_ADJUSTMENT, RESET_ADJUSTMENT, MARK_ADJUSTMENT_FAILED)
    page = JobDescription(
        states=columns.STATES,
        story=description.ADJUSTMENT_STORY,
        name=adjustment_columns.row_name,
        id_of=str,
        belongs_to=description.belongs_to,
        state_notes=adjustment_columns.state_notes,
        blockers=reasons,
        holdings=description.holdings,
        steps={**description.STEPS, "correct": change_value},
        copied_fields={"source_key": "source_key", "order_id": "order_id"},
    )

    list_display = adjustment_columns.COLUMNS
    search_help_text = gettext_lazy("Order id or source key of the conversion: the first letters are enough")
    fieldsets = adjustment_columns.FIELDSETS
    export_fields = dead_letters.ADJUSTMENT_FIELDS
    export_masks = {"errorMessage": mask_identifiers}

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        return super().get_queryset(request).select_related("original__replaces")
