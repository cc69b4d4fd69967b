"""Columns of an adjustment, and the adjustments on a conversion's page; people know them by the conversion's name."""

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import age, badge, breakable, column, error_cell, exactly, fieldset, link, two_lines
from kilit.lock.models import Event
from ociqueue.admin.base import columns
from ociqueue.models import Adjustment, Conversion
from ociqueue.operating.presenters import with_upload
from ociqueue.problems.blockers import row_name as conversion_name
from ociqueue.states import ConversionStatus


def row_name(row: Adjustment) -> str:
    return _("%(kind)s of %(name)s") % {"kind": row.get_kind_display(), "name": conversion_name(row.original)}


def state_notes(row: Adjustment) -> SafeString:
    if row.status == ConversionStatus.COMPLETED and not row.uploaded_at:
        return badge(_("not sent"), "info", title=_("The conversion ended here, so nothing had to be sent."))
    return columns.unknown_badge(row) or overtaken_badge(row)


def overtaken_badge(row: Adjustment) -> SafeString:
    return columns.note(row.is_overtaken, _("overtaken"), _("A newer adjustment takes its place."))


amount = column("amount", gettext_lazy("new value"), columns.money_of, sort_key=columns.value_key)
name = column(
    "name",
    gettext_lazy("adjustment"),
    lambda row: two_lines(conversion_name(row.original), row.get_kind_display(), title=str(row)),
)
state = column("state", gettext_lazy("state"), lambda row: columns.state_cell(row, overtaken_badge(row)))
error = column("error", gettext_lazy("error"), lambda row: error_cell(row, row.provider_error_code, row.last_error))
original = column(
    "original",
    gettext_lazy("conversion"),
    lambda row: link(columns.row_page("change", row.original_id), conversion_name(row.original)),
)
old_amount = column("old_amount", gettext_lazy("value of the conversion"), lambda row: columns.amount(row.original))
source_key = column("source_key", gettext_lazy("own key"), lambda row: breakable(row.source_key or "-"))

COLUMNS = [name, state, columns.site, amount, columns.attempts, error, age]
FIELDSETS = [
    fieldset(None, "kind", original, columns.order_id, source_key, "site", "action", amount, old_amount, "adjusted_at"),
    *columns.SENDING,
    fieldset(gettext_lazy("Origin"), "created_at", "updated_at"),
]
MOST_SHOWN = 20


def adjustments_context(row: Conversion) -> dict[str, object]:
    newest = list(with_upload(Adjustment.objects.filter(original=row.pk)).order_by("-adjusted_at")[: MOST_SHOWN + 1])
    return {
        "adjustments": [_line(adjustment) for adjustment in newest[:MOST_SHOWN]],
        "current_value": value_at_google(row, newest) if newest else "",
        "are_more_adjustments": len(newest) > MOST_SHOWN,
        "adjustments_list": reverse("admin:ociqueue_adjustment_changelist", query={"q": str(row)}),
    }


def _line(adjustment: Adjustment) -> dict[str, object]:
    address = reverse("admin:ociqueue_adjustment_change", args=[adjustment.pk])
    return {
        _("Kind"): link(address, adjustment.get_kind_display()),
        _("New value"): columns.amount(adjustment),
        _("State"): state(adjustment),
        _("Error"): error(adjustment),
        _("Adjusted at"): exactly(adjustment.adjusted_at),
    }


def value_at_google(row: Conversion, newest_first: list[Adjustment]) -> SafeString | str:
    done = next((adjustment for adjustment in newest_first if adjustment.status == ConversionStatus.COMPLETED), None)
    if done and done.is_retraction:
        if Event.objects.of(done).filter(details__verb="confirm").exists():  # by the Data Manager API
            return _("0, and Google still counts the conversion")
        return _("none: it was retracted") if done.uploaded_at else _("none: it was retracted before it was sent")
    if done:
        return columns.amount(done)
    return columns.amount(row) if row.status == ConversionStatus.COMPLETED else _("none yet")
