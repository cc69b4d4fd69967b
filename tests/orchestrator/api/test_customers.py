"""Customers by phone, over REST."""

import pytest

from orchestrator.models import Customer
from tests.support.cutting_jobs import error

pytestmark = pytest.mark.django_db


def test_a_customer_is_found_in_any_spelling(api) -> None:
    assert api.post("customers", {"phone": "0555 123 45 67", "name": " Ayşe  "}).status_code == 201
    again = api.post("customers", {"phone": "905551234567", "name": "Other"})

    assert again.status_code == 200
    assert again.json()["customer"]["name"] == "Ayşe"
    for spelling in ("5551234567", "+90 (555) 123-45-67", "00905551234567"):
        found = api.get("customers/lookup", phone=spelling)
        assert found.json()["customer"]["phone"] == "+905551234567"


@pytest.mark.parametrize("body", [{}, [], {"phone": "123", "name": "A"}, {"phone": "5551234567", "name": ""}])
def test_a_customer_without_phone_or_name_is_refused(api, body) -> None:
    answer = (
        api.post("customers", body)
        if body
        else api.client.post("/customers", "[]", content_type="application/json", headers=api.headers)
    )

    assert answer.status_code == 422
    assert not Customer.objects.exists()


def test_a_lookup_of_nonsense_says_what_a_phone_is(api) -> None:
    for query in ({"phone": "abc"}, {}):
        answer = api.get("customers/lookup", **query)
        assert answer.status_code == 422
        assert error(answer)["faults"][0].startswith("phone: ")
