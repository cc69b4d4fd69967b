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


def test_what_papers_need_is_kept_and_never_returned(api) -> None:
    details = {"address": "Ulus 1, Ankara", "tax_office": "Ulus", "tax_number": "100 0000 0146"}

    answer = api.post("customers", {"phone": "0555 123 45 67", "name": "Ayşe", **details})

    stored = Customer.objects.get()
    assert (stored.address, stored.tax_office, stored.tax_number) == ("Ulus 1, Ankara", "Ulus", "10000000146")
    for shown in (answer, api.get("customers/lookup", phone="5551234567")):
        assert sorted(shown.json()["customer"]) == ["created_at", "id", "name", "phone"]


@pytest.mark.parametrize("number", ["10000000147", "00000000000", "1234567891", "123", "TR10000000147", "Ulus", "٠٠٠"])
def test_a_wrong_tax_number_is_refused(api, number: str) -> None:
    answer = api.post("customers", {"phone": "0555 123 45 67", "name": "Ayşe", "tax_number": number})

    assert (answer.status_code, error(answer)["faults"][0].split(":")[0]) == (422, "tax_number")
    assert number not in error(answer)["message"]
    assert not Customer.objects.exists()


@pytest.mark.parametrize(
    ("number", "stored"),
    [
        ("1234567890", "1234567890"),
        ("0320412348", "0320412348"),
        ("TR 734 041 8428", "7340418428"),
        ("DE 123/456", "DE 123/456"),
        ("10000000146", "10000000146"),
    ],
)
def test_right_numbers_and_those_of_other_countries_are_kept(api, number: str, stored: str) -> None:
    api.post("customers", {"phone": "0555 123 45 67", "name": "Ayşe", "tax_number": number})

    assert Customer.objects.get().tax_number == stored


def test_a_lookup_of_nonsense_says_what_a_phone_is(api) -> None:
    for query in ({"phone": "abc"}, {}):
        answer = api.get("customers/lookup", **query)
        assert answer.status_code == 422
        assert error(answer)["faults"][0].startswith("phone: ")
