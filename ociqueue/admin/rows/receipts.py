"""Receipts on an upload's page: requests that Google took, when it is asked for their verdicts, and what it said."""

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, IntegerField, Prefetch
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.formatting import badge, breakable, code_badge, distance, number, since
from ociqueue.models import Receipt, UploadBatch
from ociqueue.uploader.results import VerdictStatus

SIZE = Func(F("row_ids"), function="cardinality", output_field=IntegerField())
# Without the lists of rows, which may be long.
IN_ORDER = Receipt.objects.defer("row_ids").order_by("received_at", "pk")
RECEIPTS = Prefetch("receipts", IN_ORDER)
COLOURS = {"SUCCESS": "success", "PARTIAL_SUCCESS": "warning", "FAILED": "danger", "FAILURE": "danger"}
# What we made of an answer that is no verdict.
MEANINGS = {
    VerdictStatus.UNPROVEN: gettext_lazy("Google did not say which rows failed: they are sent again, one by one."),
    VerdictStatus.LOST: gettext_lazy("Google does not know the request any more: its rows are sent again."),
    VerdictStatus.PENDING: gettext_lazy("No verdict came within 72 hours: its rows are sent again."),
    VerdictStatus.UNKNOWN: gettext_lazy("No verdict could be read within 72 hours: its rows are sent again."),
}


@dataclass
class SettledCounts:
    """What the verdicts on an upload's requests came to, and on how many rows there is none yet."""

    confirmed: int = 0
    rejected: int = 0
    put_off: int = 0
    late: int = 0
    pending: int = 0


def settled_counts(batch: UploadBatch) -> SettledCounts:
    receipts = batch.receipts.all()
    counts = [(each.confirmed, each.rejected, each.put_off, each.late) for each in receipts]
    total = SettledCounts(*map(sum, zip(*counts, strict=True)))
    if any(receipt.settled_at is None for receipt in receipts):
        total.pending = max(0, batch.received - sum(map(sum, counts)))
    return total


def verdict_badge(batch: UploadBatch) -> SafeString:
    """Return whether the verdicts on an upload that Google took have come."""
    receipts = batch.receipts.all()
    pending = sum(not receipt.settled_at for receipt in receipts)
    if not pending:
        return badge(_("verdict received"), "success")
    text = ngettext(
        "Google has its rows; the verdict on %(number)s request is pending.",
        "Google has its rows; the verdicts on %(number)s requests are pending.",
        pending,
    )
    return badge(_("verdict pending"), "pending", title=text % {"number": number(pending)})


def receipt_line(receipt: Any) -> dict[str, object]:
    counts = (receipt.confirmed, receipt.rejected, receipt.put_off, receipt.late)
    return {
        "receipt": receipt,
        "request_id": breakable(receipt.request_id),
        "size": number(receipt.size),
        "received": since(receipt.received_at),
        "verdict": _verdict(receipt),
        "asked": _asked(receipt),
        "counts": " / ".join(map(number, counts)) if receipt.settled_at else "-",
        "note": receipt.note or "-",
    }


def _verdict(receipt: Receipt) -> SafeString:
    if not receipt.settled_at:
        return badge(_("pending"), "pending")
    title = str(MEANINGS.get(receipt.verdict, ""))  # type: ignore[call-overload]
    if title:
        return badge(receipt.verdict, "warning", title=title)
    return code_badge(receipt.verdict, COLOURS.get(receipt.verdict, ""))


def _asked(receipt: Receipt) -> str:
    """Return how often Google was asked, and when it is asked next."""
    times = ngettext("asked once", "asked %(number)s times", receipt.checks) % {"number": number(receipt.checks)}
    asked = times if receipt.checks else _("not asked yet")
    if receipt.settled_at or not receipt.next_check_at:
        return asked
    if receipt.next_check_at <= timezone.now():
        return _("%(asked)s, due now") % {"asked": asked}
    return _("%(asked)s, next in %(span)s") % {"asked": asked, "span": distance(receipt.next_check_at)}
