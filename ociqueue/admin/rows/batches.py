"""Upload batches in the console, and the receipts of their requests."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.db.models import F, Func, IntegerField, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.formatting import badge, breakable, code_badge, column, fieldset, link, number, since, two_lines
from kilit.console.lists.listing import ReadOnlyAdmin
from kilit.machine_errors import explain
from kilit.problems.links import row_path
from kilit.spans import distance
from ociqueue.admin.base import columns
from ociqueue.admin.base.site_header import SITES_MENU, UPLOADS, header_context
from ociqueue.admin.rows import adjustment_columns
from ociqueue.models import Receipt, Site, UploadBatch
from ociqueue.models.adjustment import MODELS_BY_QUEUE
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating.filters import UPLOAD_FILTERS
from ociqueue.operating.presenters import with_upload
from ociqueue.states import ADJUSTMENTS
from ociqueue.uploader.results import VerdictStatus

SIZE = Func(F("row_ids"), function="cardinality", output_field=IntegerField())
# Without the lists of rows, which may be long.
IN_ORDER = Receipt.objects.defer("row_ids").order_by("received_at", "pk")
RECEIPTS = Prefetch("receipts", IN_ORDER)
COLOURS = {"SUCCESS": "success", "PARTIAL_SUCCESS": "warning", "FAILED": "danger", "FAILURE": "danger"}
MOST_ROWS = 200
SETTLED = ("confirmed", "rejected", "put_off", "late")  # what became of a receipt's rows
# What we made of an answer that is no verdict.
MEANINGS = {
    VerdictStatus.UNPROVEN: gettext_lazy("Google did not say which rows failed: they are sent again, one by one."),
    VerdictStatus.LOST: gettext_lazy("Google does not know the request any more: its rows are sent again."),
    VerdictStatus.PENDING: gettext_lazy("No verdict came within 72 hours: its rows are sent again."),
    VerdictStatus.UNKNOWN: gettext_lazy("No verdict could be read within 72 hours: its rows are sent again."),
}


def verdict_badge(batch: UploadBatch) -> SafeString:
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


def receipt_line(receipt: Any, *, is_chosen: bool) -> dict[str, object]:
    current = SafeString(' aria-current="true"') if is_chosen else ""
    rows_of_request = '<a href="?receipt={}#rows" class="kilit-link"{}>{}</a>'
    counts = " / ".join(number(getattr(receipt, name)) for name in SETTLED) if receipt.settled_at else "-"
    return {
        _("Request id"): format_html(rows_of_request, receipt.pk, current, breakable(receipt.request_id)),
        _("Rows"): number(receipt.size),
        _("Received"): since(receipt.received_at),
        _("Verdict"): _verdict(receipt),
        _("Asked"): _questions(receipt),
        _("Confirmed / rejected / deferred / late"): format_html('<span class="whitespace-nowrap">{}</span>', counts),
        _("Note"): explain(receipt.note) or "-",
    }


def _verdict(receipt: Receipt) -> SafeString:
    if not receipt.settled_at:
        return badge(_("pending"), "pending")
    if title := str(MEANINGS.get(receipt.verdict, "")):  # type: ignore[call-overload]
        return badge(receipt.verdict, "warning", title=title)
    return code_badge(receipt.verdict, COLOURS.get(receipt.verdict, ""))


def _questions(receipt: Receipt) -> str:
    times = ngettext("asked once", "asked %(number)s times", receipt.checks) % {"number": number(receipt.checks)}
    times = times if receipt.checks else _("not asked yet")
    if receipt.settled_at or not receipt.next_check_at:
        return times
    if receipt.next_check_at <= timezone.now():
        return _("%(asked)s, due now") % {"asked": times}
    return _("%(asked)s, next in %(span)s") % {"asked": times, "span": distance(receipt.next_check_at)}


@admin.display(description=gettext_lazy("rows"))
def size(batch: UploadBatch) -> SafeString:
    probe = badge(_("probe"), "info") if batch.is_probe else ""
    of_adjustments = badge(_("adjustments"), "info") if batch.queue == ADJUSTMENTS.queue else ""
    return format_html("{} {} {}", number(batch.size), probe, of_adjustments)


@admin.display(description=gettext_lazy("answer"))
def answer(batch: UploadBatch) -> SafeString:
    if batch.answered_at and batch.note and not batch.request_id:
        return badge(_("call failed"), "warning", title=explain(batch.note))
    if batch.received:
        return verdict_badge(batch)
    if batch.answered_at:
        return badge(_("answered"), "success")
    if not batch.sent_at:
        return badge(_("not sent"), title=_("Claimed but not sent: its rows are taken back automatically."))
    if batch.sent_at > timezone.now() - timedelta(seconds=settings.TASK_TIMEOUT):
        return badge(_("waiting for the answer"), "info")
    return badge(_("no answer: outcome unknown"), "danger", title=_("Google may or may not have its rows."))


@admin.display(description=gettext_lazy("accepted, failed, deferred"))
def result(batch: UploadBatch) -> SafeString | str:
    if not batch.answered_at:
        return "-"
    receipts = batch.receipts.all()
    settled = {name: sum(getattr(receipt, name) for receipt in receipts) for name in SETTLED}
    is_pending = any(receipt.settled_at is None for receipt in receipts)
    pending = max(0, batch.received - sum(settled.values())) if is_pending else 0
    late = batch.late + settled["late"]
    below = [
        _("verdict pending: %(number)s") % {"number": number(pending)} if pending else "",
        _("too late for %(number)s") % {"number": number(late)} if late else "",
    ]
    accepted, failed = batch.accepted + settled["confirmed"], batch.failed + settled["rejected"]
    counts = (accepted, failed, batch.put_off + settled["put_off"])
    return two_lines(" / ".join(map(number, counts)), ", ".join(filter(None, below)))


@admin.display(description=gettext_lazy("note"))
def note(batch: UploadBatch) -> SafeString | str:
    """Return the beginning of the note; the tooltip and the upload's page show all of it."""
    text = explain(batch.note)
    return format_html('<span title="{}">{}</span>', text, Truncator(text).chars(60)) if text else "-"


@admin.display(description=gettext_lazy("job id"))
def job(batch: UploadBatch) -> str:
    if batch.job_id is None or batch.answered_job_id in (None, batch.job_id):
        return str(batch.job_id or "-")
    return _("%(sent)s; Google answered %(answered)s") % {"sent": batch.job_id, "answered": batch.answered_job_id}


upload = column(
    "upload",
    gettext_lazy("upload"),
    lambda batch: two_lines(f"…{str(batch.pk)[-12:]}", batch.request_id, title=str(batch.pk)),
)
sent = column("sent", gettext_lazy("sent"), lambda batch: since(batch.sent_at) if batch.sent_at else _("not sent"))
site = column("site", gettext_lazy("site"), lambda batch: columns.site_cell(batch.site, batch.get_sender_display()))
whole_id = column("whole_id", gettext_lazy("id"), lambda batch: breakable(str(batch.pk)))

FIELDSETS: Any = [
    fieldset(
        None,
        *((answer, "site"), ("sender", size), whole_id),
        *(("created_at", "sent_at"), ("answered_at", "request_id"), job),
    ),
    fieldset(gettext_lazy("Results"), ("accepted", "received"), ("failed", "put_off"), "late", "note"),
]
READ_ONLY: Any = [field for field in flatten_fieldsets(FIELDSETS) if callable(field)]


@admin.register(UploadBatch)
class UploadBatchAdmin(ReadOnlyAdmin):
    menu = SITES_MENU.tab(1)
    change_list_template = "admin/ociqueue/uploads.html"
    list_display = [upload, site, size, sent, answer, result, note]
    filters = UPLOAD_FILTERS
    list_select_related = ["site"]
    search_help_text = gettext_lazy("The id of an upload")
    change_form_outer_after_template = "admin/ociqueue/batch_rows.html"
    fieldsets = FIELDSETS
    readonly_fields = READ_ONLY

    def get_queryset(self, request: HttpRequest) -> QuerySet[UploadBatch]:
        """Show uploads of the user's sites; the list of rows is loaded only on an upload's own page."""
        sites = list(Site.objects.seen_by(request.user).values_list("pk", flat=True))
        return super().get_queryset(request).filter(site__in=sites).defer("row_ids").prefetch_related(RECEIPTS)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Show the uploads of one site below its header, as a page of the site."""
        chosen = self.filters.accepted(request.GET, request.user, among=["site"])
        sites = Site.objects.seen_by(request.user).filter(pk__in=chosen.values())
        header = {**header_context(request, sites[0], tab=UPLOADS), "crumb": ""} if sites else {}
        return super().changelist_view(request, {**header, **(extra_context or {})})

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        batch = self.get_object(request, unquote(object_id))
        chosen = request.GET.get("receipt", "")
        options["extra_context"] = {**(rows_of(batch, chosen) if batch else {}), "show_history": False}
        return super().change_view(request, object_id, *args, **options)


def rows_of(batch: UploadBatch, chosen: str) -> dict[str, object]:
    """Return an upload's receipts, and its rows: all, or the rows of one receipt in the order that was sent."""
    receipts = list(IN_ORDER.filter(batch=batch).annotate(size=SIZE))
    receipt = next((candidate for candidate in receipts if str(candidate.pk) == chosen or len(receipts) == 1), None)
    if receipt:
        receipt.refresh_from_db(fields=["row_ids"])
    is_of_adjustments = batch.queue == ADJUSTMENTS.queue
    manager: Any = MODELS_BY_QUEUE[batch.queue]._default_manager
    rows: UploadableQuerySet[Any] = with_upload(manager.for_site(batch.site)).select_related("site")
    rows = rows.select_related("original__replaces") if is_of_adjustments else rows
    show: Any = adjustment_columns if is_of_adjustments else columns
    # An upload that was not sent yet has no list; then the rows that it claimed are shown.
    claimed = rows.in_batch(batch.pk).order_by("pk").values_list("pk", flat=True)
    ids = receipt.row_ids if receipt else batch.row_ids or list(claimed)
    rows_by_id = {row.pk: row for row in rows.filter(pk__in=ids[:MOST_ROWS])}
    places = [(place, rows_by_id[pk]) for place, pk in enumerate(ids[:MOST_ROWS]) if pk in rows_by_id]
    context = {"shown": number(MOST_ROWS), "all": number(len(ids)), "request": receipt.request_id if receipt else ""}
    title = _("The first %(shown)s of %(all)s rows") if len(ids) > MOST_ROWS else _("Rows (%(all)s)")
    of_request = _("Rows of request %(request)s in the order sent") if receipt else ""
    return {
        "receipts": [receipt_line(candidate, is_chosen=candidate == receipt) for candidate in receipts],
        "receipt": receipt,
        "batch_rows": [
            {
                **({_("Place"): place} if receipt else {}),
                capfirst(row._meta.verbose_name): link(row_path(row), show.name(row)),
                _("State now"): show.state(row),
                _("Attempts"): row.attempt_count,
                _("Error"): show.error(row),
            }
            for place, row in places
        ],
        "batch_rows_title": ": ".join(filter(None, (of_request, title))) % context,
    }
