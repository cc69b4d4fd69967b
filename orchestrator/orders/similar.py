"""Finds jobs that an order may repeat: the same parts, or the same sheet, under another name."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from orchestrator.errors import Code
from orchestrator.models import Job, OrderFile
from orchestrator.orders.order import canonical, payload_hash
from orchestrator.schemas.orders import Order
from orchestrator.states import Mode

MOST_NAMED = 5


def parts_digest(payload: Mapping[str, Any]) -> str:
    """Return the sha256 of an order's parts, whatever their order and ids are."""
    parts = [{name: value for name, value in part.items() if name != "id"} for part in payload["parts"]]
    texts = sorted(json.dumps(part, sort_keys=True, ensure_ascii=False) for part in parts)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def similar_jobs(order: Order, *, sheet: str = "") -> list[Job]:
    """Return the newest jobs with the same parts, or from the sheet with this sha256.

    Nothing for an order that exists already, which becomes no second job. A cancelled job is not cut, and a revision is
    a second cut on purpose.
    """
    payload = canonical(order)
    if Job.objects.filter(payload_hash__in=[payload_hash(payload | {"opti_mode": mode}) for mode in Mode]).exists():
        return []
    same_parts = Job.objects.filter(parts_digest=parts_digest(payload))
    same_sheet = Job.objects.filter(pk__in=OrderFile.objects.filter(sha256=sheet or None).values("job"))
    jobs = {job.pk: job for rows in (same_parts, same_sheet) for job in _newest(rows, order)}
    return sorted(jobs.values(), key=lambda job: job.pk, reverse=True)[:MOST_NAMED]


def _newest(rows: Any, order: Order) -> list[Job]:
    rows = rows.exclude(error_code=Code.CANCELLED)
    if order.revision:
        rows = rows.exclude(order_id=order.order_id)
    return list(rows.only("order_id", "created_at").order_by("-id")[:MOST_NAMED])
