"""What a valid order is, and the canonical form that is hashed and stored."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from orchestrator.orders.fields import (
    BodyReader,
    FieldReader,
    OrderFieldError,
    RequiredFieldError,
    optional_text,
    phone,
    plain,
    size,
    text,
    whole_number,
    word,
)

MODES = ("A", "B", "C")
GOVDE, ARKALIK = "GOVDE", "ARKALIK"
PART_TYPES = (GOVDE, ARKALIK)
EDGES = ("edge_up", "edge_lo", "edge_sx", "edge_dx")
MOST_PARTS = 5_000
MM_PER_CM = 10


@dataclass(frozen=True)
class PlateSize:
    width_mm: Decimal
    height_mm: Decimal


@dataclass(frozen=True)
class Part:
    """One line of the cutting list as ordered: centimetres, and edges by their trade names."""

    id: str
    part_type: str
    material_code: str
    length_cm: Decimal
    width_cm: Decimal
    quantity: int
    grain: int
    color: str
    thickness_mm: Decimal
    edge_up: str | None = None
    edge_lo: str | None = None
    edge_sx: str | None = None
    edge_dx: str | None = None
    iidesc: str | None = None
    desc1: str | None = None
    delik_kodu: str | None = None


@dataclass(frozen=True)
class Order:
    order_id: str
    customer_phone: str  # E.164
    customer_snapshot_name: str | None
    opti_mode: str
    plate_size: PlateSize | None
    parts: tuple[Part, ...]
    revision: int


class InvalidOrder(ValueError):  # noqa: N818 - it is the answer to the client
    """Every error of an order with its path: `parts.0.quantity: …`."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


PHONE = FieldReader(phone, {"type": "string", "maxLength": 40, "examples": ["0555 123 45 67"]})
ORDER_FIELDS = {
    "order_id": text(100),
    "customer_phone": PHONE,
    "customer_snapshot_name": optional_text(200),
    "opti_mode": word(MODES),
    "revision": whole_number(least=0, most=9_999),
}
PLATE_FIELDS = {"width_mm": size(), "height_mm": size()}
PART_FIELDS = {
    "id": text(64),
    "part_type": word(PART_TYPES),
    "material_code": text(64),
    "length_cm": size(mm_per_unit=MM_PER_CM),
    "width_cm": size(mm_per_unit=MM_PER_CM),
    "quantity": whole_number(least=1, most=9_999),
    "grain": whole_number(least=0, most=3),
    "color": text(100),
    "thickness_mm": size(),
    **dict.fromkeys(EDGES, optional_text(32)),
    "iidesc": optional_text(200),
    "desc1": optional_text(200),
    "delik_kodu": optional_text(64),
}


def read_order(body: Any, *, default_mode: str) -> Order:
    """Validate an order as sent; InvalidOrder lists every error, not only the first."""
    reader = BodyReader()
    if not isinstance(body, Mapping):
        raise InvalidOrder(["body: Expected an object."])
    # Null is the same as absent: a client that lists its optional fields sends the same order.
    given = {"opti_mode": default_mode, "revision": 0} | {k: v for k, v in body.items() if v is not None}
    nested = {name: given.pop(name, None) for name in ("plate_size", "parts")}
    values = reader.fields("", given, ORDER_FIELDS, beside=tuple(nested))
    plate = None
    if nested["plate_size"] is not None:
        plate = reader.object("plate_size", nested["plate_size"], PLATE_FIELDS)
    parts = _read_parts(reader, nested["parts"])
    if reader.errors:
        raise InvalidOrder(reader.errors)
    return Order(
        **values,
        plate_size=PlateSize(**plate) if plate else None,
        parts=tuple(Part(**part) for part in parts),
    )


def _read_parts(reader: BodyReader, raw: Any) -> list[dict[str, Any]]:
    if raw is None:
        reader.add_error("parts", RequiredFieldError())
    elif not isinstance(raw, list):
        reader.add_error("parts", OrderFieldError("Expected a list."))
    elif not 1 <= len(raw) <= MOST_PARTS:
        reader.add_error("parts", OrderFieldError(f"Expected 1 to {MOST_PARTS:,} parts, got {len(raw):,}."))
    else:
        parts = [reader.object(f"parts.{number}", part, PART_FIELDS) for number, part in enumerate(raw)]
        seen: set[str] = set()
        for number, part in enumerate(parts):
            if (name := part.get("id")) in seen:
                reader.add_error(f"parts.{number}.id", OrderFieldError(f"{name!r} is the id of an earlier part."))
            elif name:
                seen.add(name)
        return parts
    return []


def canonical(order: Order) -> dict[str, Any]:
    """Return the order in canonical JSON: defaults filled in, nulls left out, 18 and 18.0 alike."""
    return {name: value for name, value in _jsonable(asdict(order)).items() if value is not None}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, dict):
        return {name: _jsonable(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    return value


def payload_hash(payload: Mapping[str, Any]) -> str:
    """Return the sha256 of a canonical order; equal orders have equal hashes."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def order_from(stored: Mapping[str, Any]) -> Order:
    plate = stored.get("plate_size")
    return Order(
        order_id=stored["order_id"],
        customer_phone=stored["customer_phone"],
        customer_snapshot_name=stored.get("customer_snapshot_name"),
        opti_mode=stored["opti_mode"],
        plate_size=plate and PlateSize(Decimal(plate["width_mm"]), Decimal(plate["height_mm"])),
        parts=tuple(_part_from(part) for part in stored["parts"]),
        revision=stored["revision"],
    )


def _part_from(stored: Mapping[str, Any]) -> Part:
    sizes = {name: Decimal(stored[name]) for name in ("length_cm", "width_cm", "thickness_mm")}
    return Part(**{**stored, **sizes})
