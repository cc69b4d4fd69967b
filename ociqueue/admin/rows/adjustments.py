"""Adjustments in the console: read-only rows, and the operators' actions."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.lock.models.error_groups import Group
from kilit.masking import mask_identifiers
from ociqueue.admin.rows import adjustment_blockers, adjustment_columns, description
from ociqueue.admin.rows.actions import MARK_ADJUSTMENT_FAILED, RESET_ADJUSTMENT, RETRY_ADJUSTMENT
from ociqueue.admin.rows.uploadable import UploadableAdmin
from ociqueue.files import failed as dead_letters
from ociqueue.models import Adjustment
from ociqueue.models.adjustment import ADJUSTMENT_PREFIX, FAILURES
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating.failure_groups import expected_adjustment_groups, groups_of_wrong_data
from ociqueue.operating.operations import ADJUSTMENT_QUEUE


@admin.register(Adjustment)
class AdjustmentAdmin(UploadableAdmin):
    queue = ADJUSTMENT_QUEUE
    description = description.ADJUSTMENT
    find_blockers = staticmethod(adjustment_blockers.reasons)
    failures = FAILURES
    operator_actions = (RETRY_ADJUSTMENT, RESET_ADJUSTMENT, MARK_ADJUSTMENT_FAILED)
    row_name = staticmethod(adjustment_columns.row_name)

    list_display = adjustment_columns.COLUMNS
    search_help_text = _("Order id or source key of the conversion: the first letters are enough")
    fieldsets = adjustment_columns.FIELDSETS
    export_fields = dead_letters.ADJUSTMENT_FIELDS
    export_masks = {"errorMessage": mask_identifiers}

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        return super().get_queryset(request).select_related("original__replaces")

    def read_id(self, text: str) -> UUID | None:
        with suppress(ValueError):
            return UUID(text.removeprefix(ADJUSTMENT_PREFIX))
        return None

    def group_advice(self, names: list[str]) -> dict[str, str]:
        text = _("The data is wrong, so a retry would fail again. Change the value again on the conversion's page.")
        return dict.fromkeys(groups_of_wrong_data(names, model=Adjustment), str(text))

    def expected_groups(self, groups: list[Group]) -> set[str]:
        return expected_adjustment_groups({group.name: group.code for group in groups})
