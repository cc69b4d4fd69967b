"""Turns a validated order into a job. The same order is the same job; similar ones are found."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from kilit.lock.audit import for_reason
from kilit.lock.inserts import insert_or_find
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from kilit.workers import doorbells
from orchestrator import sentences
from orchestrator.errors import Code
from orchestrator.models import Customer, Job, OrderFile
from orchestrator.models.job import JobQuerySet
from orchestrator.orders.order import canonical, payload_hash
from orchestrator.schemas.orders import UNSAFE_CHARS, Order
from orchestrator.states import JobState, Mode

MOST_NAMED = 5
BELL = "orchestrator"
LONGEST_NAME = 255


def parts_digest(payload: Mapping[str, Any]) -> str:
    """Return the sha256 of an order's parts, whatever their order and ids are."""
    parts = [{name: value for name, value in part.items() if name != "id"} for part in payload["parts"]]
    texts = sorted(json.dumps(part, sort_keys=True, ensure_ascii=False) for part in parts)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def same_order(order: Order, *, mode_is_given: bool) -> JobQuerySet:
    """Keep the job that an order is already. Without a mode it is the same order, also if the default has changed."""
    payload = canonical(order)
    modes = [Mode(order.opti_mode)] if mode_is_given else [*Mode]
    return Job.objects.filter(payload_hash__in=[payload_hash(payload | {"opti_mode": mode}) for mode in modes])


def similar_jobs(order: Order, *, mode_is_given: bool = True, sheet: str = "") -> list[Job]:
    """Return the newest jobs with the same parts, the same number, or from the sheet with this sha256.

    So the same order in another mode, and a changed list with an old number. Nothing for an order that exists already,
    which becomes no second job. A cancelled job is not cut, and a revision is a second cut on purpose.
    """
    if same_order(order, mode_is_given=mode_is_given).exists():
        return []
    same_parts = Job.objects.filter(parts_digest=parts_digest(canonical(order)))
    same_sheet = Job.objects.filter(pk__in=OrderFile.objects.filter(sha256=sheet or None).values("job"))
    same_number = Job.objects.filter(order_id=order.order_id, customer_phone=order.customer_phone)
    jobs = {job.pk: job for rows in (same_parts, same_sheet, same_number) for job in _newest(rows, order)}
    return sorted(jobs.values(), key=lambda job: job.pk, reverse=True)[:MOST_NAMED]


def _newest(rows: JobQuerySet, order: Order) -> list[Job]:
    rows = rows.exclude(status=JobState.FAILED, error_code=Code.CANCELLED)
    if order.revision:
        rows = rows.exclude(~Q(revision=order.revision), order_id=order.order_id)
    return list(rows.only("order_id", "created_at").order_by("-id")[:MOST_NAMED])


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
        due_on=order.due_on,
        saw=order.saw or "",
        saw_is_chosen=bool(order.saw),
    )
    with transaction.atomic():
        stored, is_new = same_order(order, mode_is_given=mode_is_given).order_by("created_at").first(), False
        if stored is None:
            with for_reason(_summary(job)):
                stored, is_new = insert_or_find(job, Job.objects.filter(payload_hash=job.payload_hash))
        if not is_new:
            Event.objects.record(stored, "JOB_DEDUP", message=sentences.SENT_AGAIN)
        elif check:
            check(order)
        ring()
    return stored, not is_new


def _summary(job: Job) -> str:
    """Return what the timeline says about a new order."""
    name = job.customer_snapshot_name or job.customer_name
    text = sentences.ORDER_OF if name else sentences.ORDER
    return text % {"parts": job.part_count, "name": name, "mode": job.opti_mode}


def ring() -> None:
    """Wake the workers if the factory's folders are on this machine; elsewhere the watching runner polls."""
    if BELL in doorbells.doorbells:
        doorbells.ring(BELL)


def store_order_file(job: Job, name: str, content: bytes, *, layout: str) -> None:
    """Store a sheet with its job; the same content is stored once. Call it in the transaction of `enqueue`."""
    name = UNSAFE_CHARS.sub("_", name)[-LONGEST_NAME:]
    file = OrderFile(job=job, name=name, sha256=hashlib.sha256(content).hexdigest(), content=content, layout=layout)
    OrderFile.objects.bulk_create([file], ignore_conflicts=True)
