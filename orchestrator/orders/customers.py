"""Customers by phone number, in any format."""

from typing import Any

from orchestrator.models import Customer
from orchestrator.orders.fields import BodyReader, OrderFieldError, phone, text
from orchestrator.orders.order import PHONE, InvalidOrder

FIELDS = {"phone": PHONE, "name": text(200)}


def find_customer(number: Any) -> Customer | None:
    try:
        return Customer.objects.filter(phone=phone(number)).first()
    except OrderFieldError as error:
        raise InvalidOrder([f"phone: {error}"]) from None


def add_customer(body: Any) -> tuple[Customer, bool]:
    """Return the customer with this phone, and whether it existed before; an existing name is not changed."""
    if not isinstance(body, dict):
        raise InvalidOrder(["body: Expected an object."])
    reader = BodyReader()
    values = reader.fields("", body, FIELDS)
    if reader.errors:
        raise InvalidOrder(reader.errors)
    customer, created = Customer.objects.get_or_create(phone=values["phone"], defaults={"name": values["name"]})
    return customer, not created
