"""The customer id stands beside the site in every list, at the same number of queries however many rows and sites."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support.adjusted import api_site, make_sold, retract
from tests.support.uploads import sent, trip

pytestmark = pytest.mark.django_db


def make_rows(number: int) -> None:
    """Make a site with a conversion, an adjustment and an upload."""
    site = api_site(name=f"Site {number}", customer_id=f"12345678{number:02}")
    retract(make_sold(site, source_key=f"order-{number}"))
    sent(site, count=2)
    trip(site)
    trip(site, action="Satış")


@pytest.mark.parametrize("name", ["conversion", "adjustment", "uploadbatch", "site"])
def test_a_list_shows_the_customer_id_of_each_site_without_a_query_for_it(admin_client: Client, name: str) -> None:
    address = f"/admin/ociqueue/{name}/"
    make_rows(0)
    admin_client.get(address)  # what is cached is cached
    with CaptureQueriesContext(connection) as few:
        shown = admin_client.get(address).text
    for number in range(1, 6):
        make_rows(number)
    with CaptureQueriesContext(connection) as many:
        all_shown = admin_client.get(address).text

    assert "123-456-7800" in shown
    assert "123-456-7805" in all_shown
    assert len(many) <= len(few)
    assert '"row_ids"' not in str(many.captured_queries), "the rows of an upload are many; a list needs none"
    assert name != "conversion" or "DISTINCT" not in str(many.captured_queries)
