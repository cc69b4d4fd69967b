"""Customers: find one, add one."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orchestrator.api import schema
from orchestrator.api.access import QueueView
from orchestrator.api.presenters import present_customer
from orchestrator.orders.customers import add_customer, find_customer


@schema.customers
class CustomersView(QueueView):
    def post(self, request: Request) -> Response:
        customer, is_known = add_customer(request.data)
        return Response({"customer": present_customer(customer)}, status=200 if is_known else 201)


@schema.lookup
class LookupView(QueueView):
    def get(self, request: Request) -> Response:
        customer = find_customer(request.query_params.get("phone"))
        if customer is None:
            raise NotFound("No customer has this phone number.")
        return Response({"customer": present_customer(customer)})
