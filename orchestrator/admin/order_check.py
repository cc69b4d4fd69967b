"""The check of a draft: its faults at their cells, or the order as it would be."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kilit.console.formatting import link
from kilit.spans import moment
from orchestrator.admin import columns
from orchestrator.admin.order_form import LABELS, OrderForm
from orchestrator.admin.rule_texts import entry_text
from orchestrator.drafts.typed import DraftFault, InvalidDraft, TypedOrder
from orchestrator.figures.job_figures import compute
from orchestrator.models import Customer, Job, OrderDraft
from orchestrator.orders.order import canonical, payload_hash
from orchestrator.orders.similar import similar_jobs
from orchestrator.planning.missing_rules import missing_rules
from orchestrator.schemas.orders import Order, plain
from orchestrator.schemas.rules import Rules

MOST_PARTS_SHOWN = 200


def _job_link(job: Job) -> object:
    text = _("%(order)s of %(time)s") % {"order": job.order_id, "time": moment(job.created_at)}
    return link(reverse("admin:orchestrator_job_change", args=[job.pk]), text)


class OrderCheck:
    """What is wrong with a draft, or what becomes of it."""

    def __init__(self, content: Mapping[str, object], rules: Rules | None, draft: OrderDraft | None) -> None:
        self.typed, self.cells = TypedOrder(content), draft.cells if draft else {}
        self.faults: list[DraftFault] = []
        self.beyond, self.order = 0, None
        self.similar: list[object] = []  # links to jobs that the order may repeat
        self.has_rules = rules is not None
        if rules is None:
            return
        try:
            self.order = self.typed.check(rules)
            self.facts = self._facts(self.order, rules)
            self.notes = self._notes(self.order, rules)
            self.similar = [
                _job_link(job) for job in similar_jobs(self.order, sheet=draft.file_sha256 if draft else "")
            ]
        except InvalidDraft as invalid:
            self.faults, self.beyond = invalid.faults, invalid.beyond

    def mark(self, form: OrderForm) -> None:
        """Show the faults of the order's fields at the fields."""
        for fault in self.faults:
            if fault.row is None and fault.field in form.fields:
                form.add_error(fault.field, fault.message)

    def listed(self) -> list[dict[str, Any]]:
        """Return the faults as a list names them: row, column, the sheet's cell."""
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
        plate = order.plate_size or rules.default_plate_size
        customer = Customer.objects.filter(phone=order.customer_phone).first()
        unknown = order.customer_snapshot_name or _("unknown")
        edges = ", ".join(f"{each.edge}: {number_format(each.metres)} m" for each in figures.edges)
        return [
            (_("Customer"), f"{customer.name if customer else unknown} ({order.customer_phone})"),
            (_("Mode"), order.opti_mode),
            (_("Plate"), f"{plain(plate.width_mm)} × {plain(plate.height_mm)} mm" if plate else _("unknown")),
            (_("Pieces"), figures.pieces),
            (_("Area"), f"{number_format(figures.parts_m2)} m²"),
            (_("Edge band"), edges or _("none")),
        ]

    def _notes(self, order: Order, rules: Rules) -> list[object]:
        """Return what will keep the job waiting, and whether it exists already."""
        notes: list[object] = []
        existing = Job.objects.filter(payload_hash=payload_hash(canonical(order))).first()
        if existing:
            notes.append(
                link(reverse("admin:orchestrator_job_change", args=[existing.pk]), _("This order exists already."))
            )
        if not Customer.objects.filter(phone=order.customer_phone).exists():
            notes.append(_("No customer has this phone number: the job will wait until the customer is added."))
        if missing := missing_rules(order, rules):
            names = ", ".join(map(entry_text, missing[:10]))
            notes.append(
                _("The rules lack: %(names)s. The job will wait or fail until they are added.") % {"names": names}
            )
        return notes

    def parts(self) -> dict[str, Any]:
        """Return the parts as they would be ordered."""
        if self.order is None:
            return {}
        parts = canonical(self.order)["parts"]
        shown = columns.part_table(parts[:MOST_PARTS_SHOWN], Job(), unit=self.typed.unit)
        return {**shown, "beyond": max(0, len(parts) - MOST_PARTS_SHOWN)}
