"""Reads orders, and the canonical form that is hashed and stored."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from orchestrator.schemas.orders import Order, Part, PlateSize


def read_order(body: object, *, default_mode: str) -> Order:
    """Validate an order as sent; InvalidOrder lists every error, not only the first."""
    if isinstance(body, dict):
        # Null is the same as absent: a client that lists its optional fields sends the same order.
        body = {"opti_mode": default_mode} | {name: value for name, value in body.items() if value is not None}
    return Order.read(body, context={"part_ids": set()})


def canonical(order: Order) -> dict[str, Any]:
    """Return the order in canonical JSON: defaults filled in, nulls left out, 18 and 18.0 alike.

    Its priority, due date and saw are left out: they say when and where, not what.
    """
    return order.model_dump(mode="json", exclude_none=True, exclude={"priority", "due_on", "saw"})


def payload_hash(payload: Mapping[str, object]) -> str:
    """Return the sha256 of a canonical order; equal orders have equal hashes."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def order_from(stored: Mapping[str, Any]) -> Order:
    """Return a stored order without validating it again: it was valid when it came."""
    read = {**stored, "parts": [part_from(part) for part in stored["parts"]]}
    if plate := stored.get("plate_size"):
        read["plate_size"] = PlateSize.model_construct(None, **{name: Decimal(size) for name, size in plate.items()})
    return Order.model_construct(None, **read)


def part_from(stored: Mapping[str, Any]) -> Part:
    sizes = {name: Decimal(stored[name]) for name in ("length_cm", "width_cm", "thickness_mm")}
    return Part.model_construct(None, **{**stored, **sizes})
