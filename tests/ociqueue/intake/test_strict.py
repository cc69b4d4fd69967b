"""Requests that store all or nothing, and keys that need not name their site."""

import pytest

from ociqueue.models import Adjustment, Conversion
from tests.support.api import Api
from tests.support.conversions import SALE

pytestmark = pytest.mark.django_db
GOOD, BAD = {**SALE, "sourceKey": "order-1"}, {**SALE, "sourceKey": "order-2", "conversionValue": -1}


@pytest.mark.parametrize("dry_run", [False, True])
def test_one_invalid_row_refuses_a_strict_request_and_nothing_is_stored(api, site, dry_run) -> None:
    body = {"siteId": site.public_id, "conversions": [GOOD, BAD], "strict": True, "dryRun": dry_run}

    answer = api.post("oci/conversions", body)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "INVALID_ITEMS")
    assert error["message"] == "1 of 2 are invalid, so nothing was stored."
    assert [(each["index"], each["errors"][0]["field"]) for each in error["results"]] == [(1, "conversionValue")]
    assert not Conversion.objects.exists()


def test_a_strict_request_changes_no_stored_row_either(api, site) -> None:
    api.post("oci/conversions", {"siteId": site.public_id, "conversions": [GOOD]})
    corrected = {**GOOD, "conversionValue": 7}

    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [corrected, BAD], "strict": True})

    assert answer.status_code == 422
    assert Conversion.objects.get().value == SALE["conversionValue"]


def test_a_strict_request_of_good_rows_is_as_any_other_and_the_default_stores_the_good_ones(api, site) -> None:
    strict = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [GOOD], "strict": True})
    usual = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [{**GOOD, "sourceKey": "3"}, BAD]})

    assert (strict.status_code, strict.json()["created"]) == (200, 1)
    assert (usual.status_code, usual.json()["created"], usual.json()["invalid"]) == (200, 1, 1)


def test_one_adjustment_of_an_unknown_conversion_refuses_a_strict_request(api, site, make_conversion) -> None:
    row = make_conversion(site, source_key="order-9")
    items = [{"id": str(row), "kind": "RETRACTION"}, {"sourceKey": "nobody", "kind": "RETRACTION"}]

    answer = api.post("oci/adjustments", {"siteId": site.public_id, "adjustments": items, "strict": True})

    assert (answer.status_code, [each["index"] for each in answer.json()["error"]["results"]]) == (422, [1]), (
        answer.text
    )
    assert not Adjustment.objects.exists()
    row.refresh_from_db()
    assert row.status == "QUEUED"


def test_a_key_of_one_site_need_not_name_it(api, site) -> None:
    sent = api.post("oci/conversions", {"conversions": [GOOD]}).json()
    adjusted = api.post("oci/adjustments", {"adjustments": [{"sourceKey": "order-1", "kind": "RETRACTION"}]}).json()

    assert (sent["created"], adjusted["created"]) == (1, 1)
    assert Conversion.objects.get().site == site


def test_a_key_of_several_sites_has_to(site, make_site, site_key) -> None:
    other, key = make_site(name="Other"), site_key(site)
    other.memberships.create(user=site.service_user(), role="operator")

    answer = Api(key).post("oci/conversions", {"conversions": [GOOD]})

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == [
        {"field": "siteId", "message": "This field is required: the key opens several sites."}
    ]
    assert not Conversion.objects.exists()
