"""The pages of a list: a link for each page that is shown, and none for those that are left out."""

import re

import pytest
from django.contrib import admin

from ociqueue.models import Conversion
from orchestrator.models import Customer
from tests.support.dashboard import make_conversions, make_site

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "address"), [(Conversion, "/admin/ociqueue/conversion/"), (Customer, "/admin/orchestrator/customer/")]
)
def test_pages_left_out_are_no_link(admin_client, monkeypatch, model, address) -> None:
    make_conversions(make_site("Ege"), waiting=20)
    Customer.objects.bulk_create(Customer(phone=f"+9055500000{n}", name=f"customer {n}") for n in range(10, 30))
    monkeypatch.setattr(admin.site.get_model_admin(model), "list_per_page", 1)

    shown = admin_client.get(address, {"p": "2"}).text

    assert set(re.findall(r'href="\?p=([^"&]+)"', shown)) == {"1", "3", "4", "5", "19", "20"}
    assert '<span class="text-subtle">…</span>' in shown
    assert 'aria-current="page">2<' in shown
