"""How a job's values look: phones masked in lists, whole on the job's own page (CON-3, CON-10)."""

from typing import Any

from django.contrib.admin import display
from django.contrib.admin.utils import flatten_fieldsets
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orchestrator.admin.dress import badge, since, state_badge, two_lines
from orchestrator.models import Job
from orchestrator.states import State

SHOWN = 4  # digits of a phone


def masked(phone: str) -> str:
    """Return the end of a phone, enough to recognise it by."""
    return f"…{phone[-SHOWN:]}"


@display(description="order")
def order(job: Job) -> SafeString:
    """Return the order over the end of the id, which tells jobs apart."""
    revision = f" · revision {job.revision}" if job.revision else ""
    return two_lines(job.order_id, f"…{str(job.pk)[-12:]}{revision}", title=str(job.pk))


@display(description="state")
def state(job: Job) -> SafeString:
    """Return the state as word and colour."""
    return state_badge(job.status)


@display(description="customer")
def customer(job: Job) -> SafeString:
    """Return who ordered."""
    name = job.customer.name if job.customer else job.customer_snapshot_name or "unknown"
    return two_lines(name, masked(job.customer_phone))


@display(description="mode")
def mode(job: Job) -> SafeString:
    """Return how OptiPlanning is started."""
    return format_html('<span title="{}">{}</span>', job.get_opti_mode_display(), job.opti_mode)


@display(description="parts")
def parts(job: Job) -> int:
    """Return how many lines the order has."""
    return job.part_count


@display(description="retries")
def retries(job: Job) -> int:
    """Return how often it was retried."""
    return job.retry_count


@display(description="error")
def error(job: Job) -> SafeString | str:
    """Return the code; the whole text is on the job's page and under the pointer."""
    if not job.error_code:
        return "-"
    return format_html('<span title="{}">{}</span>', job.error_message, job.error_code)


@display(description="age")
def age(job: Job) -> SafeString:
    """Return how long ago it came in."""
    return since(job.created_at)


@display(description="in this state for")
def lasting(job: Job) -> SafeString:
    """Return how long nothing was written about it."""
    return since(job.updated_at)


@display(description="state")
def state_now(job: Job) -> SafeString:
    """Return the state, and whether a runner has the job."""
    held = badge("held by a runner", "info", title=f"until {job.lease_until:%H:%M:%S}") if job.lease_until else ""
    return format_html("{} {}", state_badge(job.status), held)


@display(description="customer")
def whole_customer(job: Job) -> str:
    """Return who ordered, with the whole phone."""
    if job.customer:
        return str(job.customer)
    return f"{job.customer_snapshot_name or 'unknown'} ({job.customer_phone})"


@display(description="plate")
def plate(job: Job) -> str:
    """Return the board that is cut."""
    size = job.plate_size or job.payload.get("plate_size")
    return f"{size['width_mm']} × {size['height_mm']} mm" if size else "of the rules"


@display(description="operator started OptiPlanning", boolean=True)
def triggered(job: Job) -> bool | None:
    """Return whether the operator's trigger was approved; only mode C asks for it."""
    return job.manual_trigger_approved if job.opti_mode == "C" else None


@display(description="error")
def whole_error(job: Job) -> str:
    """Return code and text; on a job that goes on, it is the last one."""
    if not job.error_code:
        return "-"
    last = "" if job.status in (State.HOLD, State.FAILED) else "last: "
    return f"{last}{job.error_code}: {job.error_message}"


PART_COLUMNS = {
    "id": "Part",
    "part_type": "Type",
    "material_code": "Material",
    "color": "Colour",
    "thickness_mm": "mm",
    "length_cm": "Length cm",
    "width_cm": "Width cm",
    "quantity": "Pieces",
    "grain": "Grain",
    "edge_up": "Up",
    "edge_lo": "Lo",
    "edge_sx": "Sx",
    "edge_dx": "Dx",
    "iidesc": "Description",
    "desc1": "Note",
    "delik_kodu": "Holes",
}


def part_rows(parts: list[dict[str, Any]]) -> list[list[str]]:
    """Return the cells of the parts table."""
    return [[str(part.get(name, "")) for name in PART_COLUMNS] for part in parts]


# Columns are functions: Django offers, and takes, no sorting by them, which would read the whole table.
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
        "Times",
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
