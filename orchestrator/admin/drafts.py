"""Orders by hand in the console: the page of an order, its check, and the list of drafts."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import column, link, page, since, two_lines
from kilit.console.jobs.timeline import Story
from kilit.console.lists.listing import ListPage, ReadOnlyAdmin
from kilit.lock.identity import uuid7
from kilit.masking import mask_phone
from kilit.sentences import translated
from kilit.spans import moment
from orchestrator.admin import columns, order_form
from orchestrator.admin.estimates import estimate_card, missing_text
from orchestrator.admin.order_form import LABELS, OrderForm
from orchestrator.api.jobs import download
from orchestrator.drafts.sending import DraftChanged, save_draft, send_draft
from orchestrator.drafts.suggestions import find_customers, suggest
from orchestrator.drafts.typed import SHEET_FAULTS, DraftFault, InvalidDraft, TypedOrder
from orchestrator.errors import JobError
from orchestrator.figures.job_figures import compute
from orchestrator.models import Customer, Job, OrderDraft
from orchestrator.orders.enqueue import same_order, similar_jobs
from orchestrator.orders.order import canonical
from orchestrator.planning.plan import missing_rules
from orchestrator.planning.rules import valid_rules
from orchestrator.planning.rules_in_words import SIZES
from orchestrator.planning.saws import Boards, saw_for
from orchestrator.schemas.orders import Order
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.template import XLSX, template_xlsx


def _job_link(job: Job) -> object:
    text = _("%(order)s of %(time)s") % {"order": job.order_id, "time": moment(job.created_at)}
    return link(job_page(job.pk), text)


class OrderCheck:
    def __init__(self, content: Mapping[str, object], rules: Rules | None, draft: OrderDraft | None) -> None:
        self.typed, self.cells = TypedOrder(content), draft.cells if draft else {}
        self.has_finished_sizes = draft is not None and draft.layout == "opencutlist"
        self.faults: list[DraftFault] = []
        self.beyond, self.order = 0, None
        self.estimate: dict[str, object] | None = None
        self.no_estimates = missing_text()
        self.similar: list[object] = []  # links to jobs that the order may repeat
        self.has_rules = rules is not None
        if rules is None:
            return
        try:
            self.order = self.typed.check(rules)
            self.facts = self._facts(self.order, rules)
            self.notes = self._notes(self.order, rules)
            sheet, is_given = draft.file_sha256 if draft else "", self.typed.mode_is_given
            self.similar = [_job_link(job) for job in similar_jobs(self.order, mode_is_given=is_given, sheet=sheet)]
        except InvalidDraft as invalid:
            self.faults, self.beyond = invalid.faults, invalid.beyond

    def mark(self, form: OrderForm) -> None:
        for fault in self.faults:
            if fault.row is None and fault.field in form.fields:
                form.add_error(fault.field, fault.message)

    def listed(self) -> list[dict[str, object]]:
        return [
            {"row": fault.row, "column": fault.field, "where": self._where(fault), "message": fault.message}
            for fault in self.faults
        ]

    def _where(self, fault: DraftFault) -> str:
        if fault.cell:
            return _("Cell %(cell)s") % {"cell": fault.cell}
        if fault.row is None:
            label = OrderForm.base_fields[fault.field].label if fault.field in OrderForm.base_fields else ""
            return self._with_cell(str(label or _("Parts")), self.cells.get(fault.field, ""))
        row = _("Row %(number)s") % {"number": fault.row + 1}
        place = f"{row} · {LABELS[fault.field]}" if fault.field in LABELS else row
        part = self.typed.rows[fault.row].get("id", "")
        return self._with_cell(place, self.cells.get(f"{part}.{fault.field}", "") if part else "")

    def _with_cell(self, place: str, cell: str) -> str:
        return _("%(place)s (cell %(cell)s)") % {"place": place, "cell": cell} if cell else place

    def _facts(self, order: Order, rules: Rules) -> list[tuple[str, object]]:
        figures = compute(order, rules)
        customer = Customer.objects.filter(phone=order.customer_phone).first()
        unknown = order.customer_snapshot_name or _("unknown")
        edges = ", ".join(f"{edge.edge}: {number_format(edge.metres)} m" for edge in figures.edges)
        return [
            (_("Customer"), f"{customer.name if customer else unknown} ({order.customer_phone})"),
            (_("Mode"), order.opti_mode),
            (_("Plate"), rules.plate_of(order) or _("unknown")),
            (_("Pieces"), figures.pieces),
            (_("Sizes"), SIZES[rules.sizes_are]),
            (_("Area"), f"{number_format(figures.parts_m2)} m²"),
            (_("Edge band"), edges or _("none")),
            *([(_("Due date"), date_format(order.due_on))] if order.due_on else []),
            *([(_("Saw"), order.saw)] if order.saw else []),
        ]

    def _notes(self, order: Order, rules: Rules) -> list[object]:
        """Return what will keep the job waiting, and whether it exists already."""
        notes: list[object] = []
        if existing := same_order(order, mode_is_given=self.typed.mode_is_given).first():
            notes.append(link(job_page(existing.pk), _("This order exists already.")))
        if order.due_on and order.due_on < timezone.localdate():
            notes.append(_("The due date is past: %(day)s.") % {"day": date_format(order.due_on)})
        if not Customer.objects.filter(phone=order.customer_phone).exists():
            notes.append(_("No customer has this phone number: the job will wait until the customer is added."))
        if missing := missing_rules(order, rules):
            names = ", ".join(entry.words for entry in missing[:10])
            text = _("The rules lack: %(names)s. The job will wait or fail until they are added.")
            notes.append(text % {"names": names})
        if self.has_finished_sizes and rules.sizes_are == "cut" and any(part.edges for part in order.parts):
            text = _("The list has finished sizes, and by the rules sizes are cut sizes: edge bands are not deducted.")
            notes.append(text)
        try:
            saw_for(Boards.of(order, rules), rules, chosen=order.saw or "")
        except JobError as error:
            notes.append(translated(error.message))
        return notes

    def parts(self) -> dict[str, object]:
        parts = canonical(self.order)["parts"] if self.order else []
        return columns.part_table(parts, Job(), unit=self.typed.unit) if parts else {}


def job_page(pk: object) -> str:
    return reverse("admin:orchestrator_job_change", args=[pk])


def read_time(text: str) -> datetime | None:
    with suppress(ValueError):
        return parse_datetime(text)
    return None


def _sent(draft: OrderDraft) -> str:
    if draft.job is None:
        return _("not sent")
    return link(job_page(draft.job_id), _("job of %(who)s") % {"who": Story().who(draft.sent_by)})


name = column(
    "name", gettext_lazy("order"), lambda draft: two_lines(draft.order_id or _("no order id yet"), draft.file_name)
)
parts = column("parts", gettext_lazy("parts"), lambda draft: draft.part_count)
created_by = column("created_by", gettext_lazy("created by"), lambda draft: Story().who(draft.created_by))
changed = column("changed", gettext_lazy("changed"), lambda draft: since(draft.updated_at))
sent = column("sent", gettext_lazy("sent"), _sent)


def new_order(model_admin: "OrderDraftAdmin", request: HttpRequest) -> HttpResponse:
    return model_admin.show(request, uuid7(), order_form.EMPTY_CONTENT)


def customers(_model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Return customers for the form; those who write orders may read their phone numbers."""
    if not request.user.has_perm("orchestrator.view_customer"):
        raise PermissionDenied
    customers = find_customers(request.GET.get("q", "")[:200])
    rows = [{"name": row.name, "phone": row.phone, "masked": mask_phone(row.phone)} for row in customers]
    return JsonResponse({"customers": rows})


@admin.register(OrderDraft)
class OrderDraftAdmin(ReadOnlyAdmin):
    """Operators write and send orders; viewers read the drafts."""

    menu = columns.JOBS_MENU.tab(1)
    list_display = [name, parts, created_by, changed, sent]
    list_select_related = ["job"]
    search_fields = []
    list_pages = {
        "new_order": ListPage(new_order, gettext_lazy("New order"), "operate", is_primary=True, route="new"),
        "import_sheet": ListPage(order_form.import_page, gettext_lazy("Import a sheet"), "operate", route="import"),
        "customers": ListPage(customers, permission="operate"),
        "template": ListPage(lambda *_args: download("siparis-sablonu.xlsx", template_xlsx(), XLSX)),
    }

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("file_content", "content", "cells", "sources", "job__payload")

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perms(["orchestrator.operate_orderdraft", "orchestrator.operate_job"])

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        pk = self.read_id(object_id)
        if request.method == "POST":
            if not self.has_operate_permission(request):
                raise PermissionDenied
            return self._posted(request, pk)
        if not self.has_view_permission(request):
            raise PermissionDenied
        draft = OrderDraft.objects.filter(pk=pk).defer("file_content").select_related("job").first()
        if draft is None:
            raise Http404
        return self.show(request, pk, draft.content, draft=draft, is_checked="checked" in request.GET)

    def read_id(self, text: str) -> UUID:
        with suppress(ValueError):
            return UUID(text)
        raise Http404

    def _posted(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        if "delete" in request.POST:
            return self._delete(request, pk)
        content = order_form.posted_content(request.POST)
        sheet_faults = OrderDraft.objects.filter(pk=pk).values_list(f"content__{SHEET_FAULTS}", flat=True).first()
        if sheet_faults and "sheet_checked" not in request.POST:
            content[SHEET_FAULTS] = sheet_faults
        try:
            with transaction.atomic():
                draft, is_new = save_draft(pk, content, based_on=read_time(request.POST.get("based_on", "")))
                if is_new:
                    self.log_addition(request, draft, [{"added": {}}])
        except DraftChanged as refused:
            return self._refused(request, refused.draft, content)
        if "send" in request.POST:
            return self._send(request, draft)
        if "check" in request.POST:
            return self._to_check(pk)
        messages.success(request, _("Draft saved."))
        return HttpResponseRedirect(self.address("change", pk))

    def _refused(self, request: HttpRequest, draft: OrderDraft, content: dict[str, object]) -> HttpResponse:
        """Keep what was typed, although the draft was changed or sent meanwhile."""
        if draft.job_id and draft.content == content:
            return self._to_job(request, draft.job_id, is_known=True)
        sent = _("Not saved: this draft was sent meanwhile. What you typed is below, as a new draft.")
        changed = _("Not saved: someone changed this draft meanwhile. Save what you typed to replace it.")
        messages.error(request, sent if draft.job_id else changed)
        pk, shown = (uuid7(), None) if draft.job_id else (draft.pk, draft)
        return self.show(request, pk, content, draft=shown, status=409)

    def _send(self, request: HttpRequest, draft: OrderDraft) -> HttpResponse:
        rules = valid_rules()
        try:
            if rules is None:
                messages.error(request, _("Not sent: the cutting rules cannot be read. The draft is saved."))
            elif "similar_checked" not in request.POST and OrderCheck(draft.content, rules, draft).similar:
                text = _("Not sent yet: a job has the same parts, sheet or number. Look at it, then confirm.")
                messages.warning(request, text)
            else:
                job, is_known = send_draft(draft.pk, rules)
                return self._to_job(request, job.pk, is_known=is_known)
        except InvalidDraft:
            messages.error(request, _("Not sent: correct the faults first. The draft is saved."))
        return self._to_check(draft.pk)

    def _to_check(self, pk: UUID) -> HttpResponse:
        return HttpResponseRedirect(f"{self.address('change', pk)}?checked=1#order-check")

    def _to_job(self, request: HttpRequest, job: UUID, *, is_known: bool) -> HttpResponse:
        if is_known:
            existing = link(job_page(job), _("This is its job."))
            messages.warning(request, format_html("{} {}", _("This order exists already."), existing))
        else:
            messages.success(request, _("The order was sent."))
        return HttpResponseRedirect(job_page(job))

    def _delete(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        with transaction.atomic():
            draft = OrderDraft.objects.unsent().select_for_update().filter(pk=pk).first()
            if draft is None:
                raise Http404
            self.log_deletions(request, [draft])
            draft.delete()
        messages.success(request, _("Draft deleted."))
        return HttpResponseRedirect(self.address("changelist"))

    def show(
        self,
        request: HttpRequest,
        pk: UUID,
        content: dict[str, object],
        *,
        draft: OrderDraft | None = None,
        is_checked: bool = False,
        status: int = 200,
    ) -> HttpResponse:
        rules = valid_rules()
        form = order_form.OrderForm(content, rules)
        check = OrderCheck(content, rules, draft) if is_checked else None
        if check:
            check.mark(form)
        may_edit = self.has_operate_permission(request) and not (draft and draft.job_id)
        if may_edit and check and check.order and "estimate" in request.GET:
            check.estimate = estimate_card(check.order, rules)
        context = {
            "title": _("New order") if draft is None else _("Order %(order)s") % {"order": draft},
            "form": form,
            "draft": draft,
            "check": check,
            "may_edit": may_edit,
            "post_to": self.address("change", pk),
            "created_by": Story().who(draft.created_by) if draft else "",
            "sources": order_form.source_rows(draft) if draft else [],
            "suggestions": {**suggest(rules), "part-types": order_form.TYPES} if may_edit else None,
            **order_form.grid(content, rules),
        }
        response = page(self, request, "admin/orchestrator/order.html", **context)
        response.status_code = status
        return response
