"""Turns a validated order into a job. The same order is the same job."""

from collections.abc import Callable

from django.db import transaction

from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from kilit.workers import doorbells
from orchestrator.models import Customer, Job
from orchestrator.orders.order import canonical, payload_hash
from orchestrator.orders.similar import parts_digest
from orchestrator.schemas.orders import Order
from orchestrator.states import Mode

BELL = "orchestrator"


def enqueue(
    order: Order, *, mode_is_given: bool = True, check: Callable[[Order], None] | None = None
) -> tuple[Job, bool]:
    """Return the order's job, and whether it existed before.

    The unique index decides: of two requests with the same order, one inserts. `check` may raise to refuse a new order;
    one that exists stays the same job, also when the rules have changed since.
    """
    payload = canonical(order)
    customer = Customer.objects.filter(phone=order.customer_phone).first()
    job = Job(
        order_id=order.order_id,
        customer_phone=order.customer_phone,
        customer_snapshot_name=order.customer_snapshot_name or "",
        customer=customer,
        opti_mode=order.opti_mode,
        revision=order.revision,
        payload=payload,
        payload_hash=payload_hash(payload),
        parts_digest=parts_digest(payload),
        part_count=len(order.parts),
        priority=Priority[order.priority.upper()],
    )
    with transaction.atomic():
        # An order without a mode is the same order even if the default mode has changed since.
        others = [payload_hash(payload | {"opti_mode": mode}) for mode in Mode] if not mode_is_given else []
        stored = Job.objects.filter(payload_hash__in=others).order_by("created_at").first()
        if stored is None:
            with for_reason(_summary(job)):
                Job.objects.bulk_create([job], ignore_conflicts=True)
            stored = Job.objects.get(payload_hash=job.payload_hash)
        is_known = stored.pk != job.pk
        if is_known:
            Event.objects.record(stored, "JOB_DEDUP", message="The same order was sent again.")
        elif check:
            check(order)
        ring()
    return stored, is_known


def _summary(job: Job) -> str:
    """Return what the timeline says about a new order, such as “12 parts for Ege Mobilya, mode C.”."""
    name = job.customer_snapshot_name or job.customer_name
    parts = f"{job.part_count:,} {'part' if job.part_count == 1 else 'parts'}"
    return f"{parts}{f' for {name}' if name else ''}, mode {job.opti_mode}."


def ring() -> None:
    """Wake the workers if the factory's folders are on this machine; elsewhere the watching runner polls."""
    if BELL in doorbells.doorbells:
        doorbells.ring(BELL)
