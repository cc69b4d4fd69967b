"""Adjustments in the console: read-only rows, what is blocking them, and the operators' actions."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.jobs.blockers import Blocker, blocked, ended, ready, waiting
from kilit.console.jobs.job_page import JobDescription, JobOffer, Offers
from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from ociqueue.admin.base import columns
from ociqueue.admin.base.site_header import CONVERSIONS_MENU
from ociqueue.admin.rows import adjustment_columns, blockers, description
from ociqueue.admin.rows.description import MARK_ADJUSTMENT_FAILED, RESET_ADJUSTMENT, RETRY_ADJUSTMENT, UploadableAdmin
from ociqueue.admin.rows.row_forms import why_not_adjust
from ociqueue.files import exports as dead_letters
from ociqueue.models import Adjustment
from ociqueue.models.adjustment import FAILURES
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.queue import ADJUSTMENT_QUEUE
from ociqueue.states import IN_UPLOAD, AdjustmentKind, ConversionStatus, SyncMethod


def reasons(row: Adjustment, timeline: list[Event]) -> Iterator[Blocker]:
    completed = ended(_("Completed: Google has it. This state is final."))
    if not row.uploaded_at:
        completed = ended(_("Completed: the conversion ended here, so nothing had to be sent."), **_conversion(row))
    return blockers.reasons_of(row, timeline, completed=completed, failed=_failed, due=_due)


def _due(row: Adjustment, limits: object) -> Iterable[Blocker]:
    causes = [*_blocked_by_conversion(row), *blockers.blocked_by_pause_or_limits(row, limits), *_by_sender(row)]
    return causes or [ready(_("seconds"))]


def _failed(row: Adjustment, limits: object) -> Iterator[Blocker]:
    if row.is_overtaken:
        newest = Adjustment.objects.newest().filter(original=row.original_id).first()
        yield ended(_("A newer adjustment takes its place."), **(_other(newest) if newest else {}))
    elif row.original.status == ConversionStatus.FAILED:
        sentence = _("Its conversion failed, so there is nothing to adjust.")
        if row.original.outcome_unknown:
            sentence = _("Its conversion failed and its outcome is unknown: look it up in Google Ads by its order id.")
        yield ended(sentence, **_conversion(row))
    else:
        yield from blockers.failed(row, limits)


def _blocked_by_conversion(row: Adjustment) -> Iterator[Blocker]:
    if row.original.status != ConversionStatus.COMPLETED:
        sentence = _("State of its conversion: %(state)s. The adjustment is sent when the conversion was sent.")
        yield waiting(sentence % {"state": row.original.lifecycle.labels[row.original.status]}, **_conversion(row))
    older = Adjustment.objects.filter(original=row.original_id, status__in=IN_UPLOAD).first()
    if older:
        yield waiting(
            _("An older adjustment of the conversion is being sent. This one is sent after it."), **_other(older)
        )


def _by_sender(row: Adjustment) -> Iterator[Blocker]:
    sentence = _("The site's script cannot send adjustments: switch the site to an API.")
    is_script = row.site.sync_method == SyncMethod.SCRIPT
    yield from [blocked(sentence, **blockers.site_link(row))] if is_script else blockers.blocked_by_account(row)


def _conversion(row: Adjustment) -> dict[str, str]:
    return {"link": columns.row_name(row.original), "href": columns.row_page("change", row.original_id)}


def _other(row: Adjustment) -> dict[str, str]:
    return {"link": _("The adjustment"), "href": reverse("admin:ociqueue_adjustment_change", args=[row.pk])}


def change_value(row: Adjustment, _offers: Offers, _user: object) -> JobOffer | None:
    """Offer another value, which takes the place of the one that was wrong."""
    if row.is_retraction or row.is_overtaken or why_not_adjust(row.original, AdjustmentKind.RESTATEMENT):
        return None
    return JobOffer(_("Change the value again"), columns.row_page("change_value", row.original_id))


@admin.register(Adjustment)
class AdjustmentAdmin(UploadableAdmin):
    menu = CONVERSIONS_MENU.tab(1)
    queue = ADJUSTMENT_QUEUE
    failures = FAILURES
    actions = (RETRY_ADJUSTMENT, RESET_ADJUSTMENT, MARK_ADJUSTMENT_FAILED)
    page = JobDescription(
        states=columns.STATES,
        story=description.ADJUSTMENT_STORY,
        name=adjustment_columns.row_name,
        id_of=str,
        belongs_to=description.belongs_to,
        state_notes=adjustment_columns.state_notes,
        blockers=reasons,
        holdings=blockers.holdings,
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
