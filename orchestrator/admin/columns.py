"""Columns and fields of a job. Phone numbers are masked in lists and complete on the job's page."""

from decimal import Decimal

from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localdate, localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import badge, column, fieldset, since, two_lines
from kilit.console.jobs.states import States, priority_badge
from kilit.console.menu import MenuItem
from kilit.machine_errors import in_words
from kilit.masking import mask_phone
from orchestrator.admin.order_form import LABELS
from orchestrator.blockers import warning_text
from orchestrator.drafts.typed import PART_FIELDS, UNITS
from orchestrator.models import Job
from orchestrator.schemas.orders import plain
from orchestrator.states import CANCELLABLE, JOBS, OPEN, JobState, Mode

SIZES = tuple(PART_FIELDS.values())  # in centimetres
MOST_PARTS_SHOWN = 200
JOBS_MENU = MenuItem(gettext_lazy("Jobs"), "carpenter", 40)
STATES = States(JOBS, colours={JobState.DELIVERED: "success", JobState.HOLD: "warning"})


def _order(job: Job) -> SafeString:
    revision = " · " + _("revision %(number)s") % {"number": job.revision} if job.revision else ""
    return two_lines(job.order_id, f"…{str(job.pk)[-12:]}{revision}", title=str(job.pk))


def state_notes(job: Job) -> SafeString | str:
    if job.is_with_people:
        return badge(_("cut by hand"), "info")
    if not job.lease_until:
        return ""
    until = _("until %(time)s") % {"time": f"{localtime(job.lease_until):%H:%M:%S}"}
    return badge(_("held by a runner"), "info", title=until)


def state_badge(job: Job) -> SafeString:
    state = STATES.badge(job.status)
    return format_html("{} {}", state, state_notes(job)) if job.is_with_people else state


def notes_on_page(job: Job) -> SafeString:
    return format_html("{} {}", state_notes(job), due_badge(job))


def due_badge(job: Job) -> SafeString | str:
    """Return the day an open job is due; before the day comes it is quiet."""
    if job.due_on is None or job.status not in OPEN:
        return ""
    left, day = (job.due_on - localdate()).days, date_format(job.due_on, "SHORT_DATE_FORMAT")
    if left < 0:
        return badge(_("late: %(day)s") % {"day": day}, "danger")
    return badge(day, title=_("due")) if left else badge(_("due today"), "warning")


def _parts(job: Job) -> SafeString | str:
    if not job.warning_code or job.status not in CANCELLABLE:
        return str(job.part_count)
    return format_html("{} {}", job.part_count, badge(_("too large"), "warning", title=warning_text(job)))


def _plate(job: Job) -> str:
    size = job.plate_size or job.payload.get("plate_size")
    return f"{size['width_mm']} × {size['height_mm']} mm" if size else _("from the rules")


def _triggered(job: Job) -> str:
    approved = _("yes, approved") if job.manual_trigger_approved else _("not yet")
    return approved if job.opti_mode == Mode.C else _("not needed")


def part_table(parts: list[dict[str, object]], job: Job, *, unit: str) -> dict[str, object]:
    """Return the first parts as a table with the headings of the order form; too large ones have a badge."""
    beyond, parts = max(0, len(parts) - MOST_PARTS_SHOWN), parts[:MOST_PARTS_SHOWN]
    parts = [{"iidesc": part["delik_kodu"], **part} if "delik_kodu" in part else part for part in parts]
    columns = {PART_FIELDS.get(name, name): label for name, label in {"id": LABELS["id"], **LABELS}.items()}
    columns = {name: label for name, label in columns.items() if any(part.get(name) is not None for part in parts)}
    too_large = {*(job.warning_details or {}).get("parts", [])} if job.warning_code else set()
    mark = badge(_("too large"), "warning") if too_large else ""
    rows = [
        (mark if part["id"] in too_large else "", [_cell(name, part.get(name, ""), unit) for name in columns])
        for part in parts
    ]
    headings = [f"{label} {unit}" if name in SIZES else str(label) for name, label in columns.items()]
    return {"part_columns": headings, "part_rows": rows, "parts_beyond": beyond}


def _cell(name: str, value: object, unit: str) -> str:
    return number_format(plain(Decimal(str(value)) / UNITS[unit])) if name in SIZES else str(value)


order = column("order", gettext_lazy("order"), _order)
state = column("state", gettext_lazy("state"), lambda job: format_html("{} {}", state_badge(job), priority_badge(job)))
due = column("due", gettext_lazy("due"), due_badge)
saw = column("saw", gettext_lazy("saw"), lambda job: job.saw or "–")
customer = column(
    "customer",
    gettext_lazy("customer"),
    lambda job: two_lines(job.customer_name or _("unknown"), mask_phone(job.customer_phone)),
)
mode = column(
    "mode",
    gettext_lazy("mode"),
    lambda job: format_html('<span title="{}">{}</span>', job.get_opti_mode_display(), job.opti_mode),
)
whole_error = column("error_message", gettext_lazy("message"), lambda job: in_words(job.error_message) or "-")
parts = column("parts", gettext_lazy("parts"), _parts, sort_key=lambda job: job.part_count)
warning = column("warning", gettext_lazy("warning"), warning_text)
retries = column("retries", gettext_lazy("retries"), lambda job: job.retry_count)
lasting = column(
    "lasting",
    gettext_lazy("in this state for"),
    lambda job: since(job.updated_at),
    sort_key=lambda job: -job.updated_at.timestamp(),
)
whole_customer = column(
    "whole_customer",
    gettext_lazy("customer"),
    lambda job: f"{job.customer_name or _('unknown')} ({job.customer_phone})",
)
plate = column("plate", gettext_lazy("plate"), _plate)
triggered = column("triggered", gettext_lazy("started by the operator"), _triggered)
# Columns are functions so that Django offers no sorting, which would read the whole table.
COLUMNS = [order, state, customer, mode, parts, retries, "error", lasting, "age"]
FIELDSETS = [
    fieldset(
        None,
        "order_id",
        whole_customer,
        "due_on",
        "saw",
        "opti_mode",
        plate,
        warning,
        triggered,
        "backing_edge_reset_count",
    ),
    fieldset(gettext_lazy("Last error"), "error_code", whole_error),
    fieldset(
        gettext_lazy("Times"),
        *("created_at", "updated_at", "next_run_at", "retry_count"),
        *("imported_at", "opti_started_at", "handed_at", "finished_at", "cut_by", "cut_at"),
    ),
]
