"""The adjustments of a conversion, on its page: what was asked for, what became of it, and the value at Google."""

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from kilit.console.formatting import exactly, link
from kilit.lock.models import Event
from ociqueue.admin.base.columns import amount
from ociqueue.admin.rows.adjustment_columns import error, kind_label, state
from ociqueue.models import Adjustment, Conversion
from ociqueue.operating.presenters import with_upload
from ociqueue.states import ConversionStatus

MOST_SHOWN = 20


def adjustments_context(row: Conversion) -> dict[str, object]:
    newest = list(with_upload(Adjustment.objects.filter(original=row.pk)).order_by("-adjusted_at")[: MOST_SHOWN + 1])
    return {
        "adjustments": [_line(each) for each in newest[:MOST_SHOWN]],
        "current_value": value_at_google(row, newest) if newest else "",
        "are_more_adjustments": len(newest) > MOST_SHOWN,
        "adjustments_list": reverse("admin:ociqueue_adjustment_changelist", query={"q": str(row)}),
    }


def _line(each: Adjustment) -> tuple[object, ...]:
    kind = link(reverse("admin:ociqueue_adjustment_change", args=[each.pk]), kind_label(each.kind))
    return kind, amount(each), state(each), error(each), exactly(each.adjusted_at)


def value_at_google(row: Conversion, newest_first: list[Adjustment]) -> SafeString | str:
    done = next((each for each in newest_first if each.status == ConversionStatus.COMPLETED), None)
    if done and done.is_retraction:
        if Event.objects.of(done).filter(details__verb="confirm").exists():  # by the Data Manager API
            return _("0, and Google still counts the conversion")
        return _("none: it was retracted") if done.uploaded_at else _("none: it was retracted before it was sent")
    if done:
        return amount(done)
    return amount(row) if row.status == ConversionStatus.COMPLETED else _("none yet")
