"""Customers by phone, in whatever spelling it comes."""

from typing import Any

from orchestrator.models import Customer
from orchestrator.orders.fields import BodyReader, InvalidField, phone, text
from orchestrator.orders.order import PHONE, InvalidOrder

FIELDS = {"phone": PHONE, "name": text(200)}


def find_customer(spelt: Any) -> Customer | None:
    """Return the customer with this phone; InvalidOrder when it is no phone."""
    try:
        return Customer.objects.filter(phone=phone(spelt)).first()
    except InvalidField as wrong:
        raise InvalidOrder([f"phone: {wrong}"]) from None


def add_customer(body: Any) -> tuple[Customer, bool]:
    """Return the customer with this phone, and whether it was there before; the name of one who was stays."""
    reading = BodyReader()
    values = reading.fields("", body if isinstance(body, dict) else {}, FIELDS)
    if reading.faults:
        raise InvalidOrder(reading.faults)
    customer, created = Customer.objects.get_or_create(phone=values["phone"], defaults={"name": values["name"]})
    return customer, not created
