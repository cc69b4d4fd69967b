"""Customers by phone number, in any format."""

from typing import Any

from orchestrator.models import Customer
from orchestrator.schemas.orders import CustomerLookup, NewCustomer


def find_customer(number: Any) -> Customer | None:
    return Customer.objects.filter(phone=CustomerLookup.read({"phone": number}).phone).first()


def add_customer(body: Any) -> tuple[Customer, bool]:
    """Return the customer with this phone, and whether it existed before; an existing name is not changed."""
    new = NewCustomer.read(body)
    customer, created = Customer.objects.get_or_create(phone=new.phone, defaults={"name": new.name})
    return customer, not created
