"""Columns and fields of a job. Phone numbers are masked in lists and complete on the job's page."""

from typing import Any

from django.contrib.admin import display
from django.contrib.admin.utils import flatten_fieldsets
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import badge, error_cell, since, two_lines
from orchestrator.admin.badges import state_badge
from orchestrator.models import Job
from orchestrator.states import FAILING, Mode

SHOWN = 4  # digits of a phone


def masked(phone: str) -> str:
    return f"…{phone[-SHOWN:]}"


@display(description=gettext_lazy("order"))
def order(job: Job) -> SafeString:
    revision = " · " + _("revision %(number)s") % {"number": job.revision} if job.revision else ""
    return two_lines(job.order_id, f"…{str(job.pk)[-12:]}{revision}", title=str(job.pk))


@display(description=gettext_lazy("state"))
def state(job: Job) -> SafeString:
    return state_badge(job.status)


@display(description=gettext_lazy("customer"))
def customer(job: Job) -> SafeString:
    return two_lines(job.customer_name or _("unknown"), masked(job.customer_phone))


@display(description=gettext_lazy("mode"))
def mode(job: Job) -> SafeString:
    return format_html('<span title="{}">{}</span>', job.get_opti_mode_display(), job.opti_mode)


@display(description=gettext_lazy("parts"))
def parts(job: Job) -> int:
    return job.part_count


@display(description=gettext_lazy("retries"))
def retries(job: Job) -> int:
    return job.retry_count


@display(description=gettext_lazy("error"))
def error(job: Job) -> SafeString | str:
    return error_cell(job.error_code, job.error_message)


@display(description=gettext_lazy("age"))
def age(job: Job) -> SafeString:
    return since(job.created_at)


@display(description=gettext_lazy("in this state for"))
def lasting(job: Job) -> SafeString:
    return since(job.updated_at)


@display(description=gettext_lazy("state"))
def state_now(job: Job) -> SafeString:
    held = ""
    if job.lease_until:
        until = _("until %(time)s") % {"time": f"{localtime(job.lease_until):%H:%M:%S}"}
        held = badge(_("held by a runner"), "info", title=until)
    return format_html("{} {}", state_badge(job.status), held)


@display(description=gettext_lazy("customer"))
def whole_customer(job: Job) -> str:
    return f"{job.customer_name or _('unknown')} ({job.customer_phone})"


@display(description=gettext_lazy("plate"))
def plate(job: Job) -> str:
    size = job.plate_size or job.payload.get("plate_size")
    return f"{size['width_mm']} × {size['height_mm']} mm" if size else _("from the rules")


@display(description=gettext_lazy("started by the operator"))
def triggered(job: Job) -> str:
    if job.opti_mode != Mode.C:
        return _("not needed")
    return _("yes, approved") if job.manual_trigger_approved else _("not yet")


@display(description=gettext_lazy("error"))
def whole_error(job: Job) -> str:
    """Return the code, whose text is above; on a job that continues, the last code and its text."""
    if not job.error_code:
        return "-"
    if job.status in FAILING:
        return job.error_code
    return _("before: %(code)s: %(message)s") % {"code": job.error_code, "message": job.error_message}


FIGURES = {
    "boards_m2": gettext_lazy("Boards m²"),
    "drops_m2": gettext_lazy("Offcuts m²"),
    "drop_kinds": gettext_lazy("Kinds of offcuts"),
    "patterns": gettext_lazy("Patterns"),
    "cycles": gettext_lazy("Cycles"),
    "cuts": gettext_lazy("Cuts"),
    "time_s": gettext_lazy("Time s"),
    "cost": gettext_lazy("Cost"),
    "algo": gettext_lazy("Algorithm"),
    "name": gettext_lazy("Name"),
}


def figures(solution: dict[str, Any] | None) -> list[tuple[str, Any]]:
    known = solution or {}
    return [(str(label), known[name]) for name, label in FIGURES.items() if known.get(name) not in (None, "")]


# Every event repeats these columns of the row; the timeline shows them only for the state that set them.
ONCE = {"batch_count": "PREPARED", "backing_edge_reset_count": "PREPARED"}
HIDDEN = ("verb", "error_message")


def timeline(events: Any) -> list[Any]:
    """Return the events with the details that are new in each."""
    shown = list(events)
    for event in shown:
        moved = event.to_state if event.from_state != event.to_state else None
        event.details = {
            name: ", ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in event.details.items()
            if name not in HIDDEN and (moved is None or ONCE.get(name, moved) == moved)
        }
    return shown


PART_COLUMNS = {
    "id": gettext_lazy("Part"),
    "part_type": gettext_lazy("Type"),
    "material_code": gettext_lazy("Material"),
    "color": gettext_lazy("Colour"),
    "thickness_mm": "mm",
    "length_cm": gettext_lazy("Length cm"),
    "width_cm": gettext_lazy("Width cm"),
    "quantity": gettext_lazy("Pieces"),
    "grain": gettext_lazy("Grain"),
    "edge_up": "Up",
    "edge_lo": "Lo",
    "edge_sx": "Sx",
    "edge_dx": "Dx",
    "iidesc": gettext_lazy("Description"),
    "desc1": gettext_lazy("Note"),
    "delik_kodu": gettext_lazy("Holes"),
}


def part_table(parts: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in PART_COLUMNS if any(part.get(name) is not None for part in parts)]
    rows = [[str(part.get(name, "")) for name in names] for part in parts]
    return {"part_columns": [PART_COLUMNS[name] for name in names], "part_rows": rows}


# Columns are functions so that Django offers no sorting, which would read the whole table.
COLUMNS = [order, state, customer, mode, parts, retries, error, lasting, age]
FIELDSETS: Any = [
    (
        None,
        {
            "fields": [
                (state_now, whole_error),
                ("order_id", whole_customer),
                ("opti_mode", plate),
                (triggered, "backing_edge_reset_count"),
            ]
        },
    ),
    (
        gettext_lazy("Times"),
        {
            "fields": [
                ("created_at", "updated_at"),
                ("next_run_at", "retry_count"),
                ("imported_at", "opti_started_at"),
                ("handed_at", "finished_at"),
            ]
        },
    ),
]
READ_ONLY = [field for field in flatten_fieldsets(FIELDSETS) if callable(field)]
