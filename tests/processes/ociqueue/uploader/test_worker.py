"""A real worker uploads: a row arrives over REST, the bell rings, Google confirms."""

import pytest

from ociqueue.models import Conversion
from tests.support.api import Api
from tests.support.conversions import SALE
from tests.support.waiting import wait_until
from tests.support.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_conversion_that_comes_in_is_uploaded_by_a_worker(google, api_site, site_key, monkeypatch) -> None:
    for name, value in google.environment.items():
        monkeypatch.setenv(name, value)
    workers = Workers()
    try:
        workers.start()
        item = {**SALE, "conversionCurrency": "TRY", "gclid": "CjReal"}
        entered = Api(site_key(api_site)).post("oci/conversions", {"siteId": api_site.public_id, "conversions": [item]})
        assert entered.json()["created"] == 1

        wait_until(lambda: Conversion.objects.filter(status="COMPLETED").exists())
    finally:
        workers.stop()

    row = Conversion.objects.get()
    assert row.uploaded_at
    assert row.provider_request_id == "request-1"
    assert [sent.gclid for call in google.calls for sent in call.request.conversions] == ["CjReal"]
