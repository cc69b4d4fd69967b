"""The endpoint for adjustments, asked by several clients at once."""

from typing import Any

import pytest
from django.db import transaction

from ociqueue.intake.corrections import COLUMNS, change_row, store_changes
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.operating.lookups import look_up
from ociqueue.schemas.lookups import Lookup
from ociqueue.states import SyncMethod
from tests.support.adjusted import make_sold
from tests.support.api import Api
from tests.support.conversions import new_conversion


@pytest.fixture
def sold(site) -> Conversion:
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.API)
    return make_sold(site, source_key="order-1")


def correct(row: Conversion, **columns: Any) -> Conversion:
    """Store a corrected copy of a conversion, and return it as one that Google has."""
    same = {name: getattr(row, name) for name in ("site", "action", *COLUMNS)}
    change = change_row(row, {**same, "gclid": f"{row.gclid}2", **columns}, ["gclid"])
    with transaction.atomic():
        store_changes(row.site, [change])
    rows = Conversion.objects.filter(pk=change.sent.pk)
    rows.move("claim", claimed_at=row.conversion_time)
    rows.move("ack")
    return rows.get()


def body(site, *items):
    return {"siteId": site.public_id, "adjustments": list(items)}


RETRACTION = {"sourceKey": "order-1", "kind": "RETRACTION"}


@pytest.mark.django_db
def test_the_answer_counts_what_became_of_each(site, sold, api):
    restatement = {"sourceKey": "order-1", "kind": "RESTATEMENT", "value": "80.50"}
    answer = api.post("oci/adjustments", body(site, restatement, restatement, {"kind": "NO"}))

    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in ("created", "duplicates", "invalid")} == {
        "created": 1,
        "duplicates": 1,
        "invalid": 1,
    }
    assert answer.json()["results"][2]["errors"]


@pytest.mark.django_db
@pytest.mark.parametrize("items", [[], [RETRACTION] * 5_001, None, "RETRACTION"])
def test_a_bad_request_stores_nothing(site, sold, api, items):
    assert api.post("oci/adjustments", {"siteId": site.public_id, "adjustments": items}).status_code == 400
    assert not Adjustment.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["sourceKey", "conversionSourceKey"])
def test_a_source_key_means_the_newest_corrected_copy_as_in_lookups(site, sold, api, name):
    newest = correct(correct(sold))

    answer = api.post("oci/adjustments", body(site, {name: "order-1", "kind": "RESTATEMENT", "value": 5}))

    (result,) = answer.json()["results"]
    assert (result["status"], result["conversionId"]) == ("created", str(newest))
    found = look_up(site, [Lookup(sourceKey="order-1")])[0]["conversions"]
    assert [each["id"] for each in found if each["replacedBy"] is None] == [result["conversionId"]]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Satış", "Randevu"])
def test_a_copy_with_another_name_is_named_by_either(site, sold, api, name):
    copy = correct(sold, action="Randevu")
    item = {"sourceKey": "order-1", "conversionName": name, "kind": "RESTATEMENT", "value": 5}

    (result,) = api.post("oci/adjustments", body(site, item)).json()["results"]

    assert (result["status"], result["conversionId"]) == ("created", str(copy))


@pytest.mark.django_db
def test_the_id_of_a_replaced_conversion_is_refused(site, sold, api):
    correct(sold)

    (result,) = api.post("oci/adjustments", body(site, {"id": str(sold), "kind": "RETRACTION"})).json()["results"]

    message = "The conversion was replaced by a corrected copy; adjust the copy."
    assert result["errors"] == [{"field": "id", "message": message}]


@pytest.mark.django_db(transaction=True)
def test_of_many_clients_at_once_one_retracts(site, sold, site_key, in_threads):
    key = site_key(site)

    answers = in_threads(lambda _: Api(key).post("oci/adjustments", body(site, RETRACTION)).json(), count=6)

    assert sorted(answer["created"] for answer in answers) == [0, 0, 0, 0, 0, 1]
    assert {answer["results"][0]["id"] for answer in answers} == {str(Adjustment.objects.get())}


@pytest.mark.django_db(transaction=True)
def test_of_many_values_at_once_one_is_the_newest(site, sold, site_key, in_threads):
    key = site_key(site)

    def restate(number):
        item = {"sourceKey": "order-1", "kind": "RESTATEMENT", "value": number + 1}
        return Api(key).post("oci/adjustments", body(site, item)).json()["created"]

    assert in_threads(restate, count=6) == [1] * 6
    rows = list(Adjustment.objects.order_by("adjusted_at"))
    assert [row.is_overtaken for row in rows] == [True] * 5 + [False]
    assert [row.status for row in rows] == ["FAILED"] * 5 + ["QUEUED"]
    assert len({row.adjusted_at for row in rows}) == 6


@pytest.mark.django_db(transaction=True)
def test_one_key_for_two_conversions_at_once_is_used_once(site, sold, site_key, in_threads):
    other = new_conversion(site, source_key="order-2")
    other.save()
    key = site_key(site)

    def retract(number):
        item = {"conversionSourceKey": f"order-{number % 2 + 1}", "sourceKey": "refund-1", "kind": "RETRACTION"}
        answer = Api(key).post("oci/adjustments", body(site, item))
        return answer.status_code, answer.json()["results"][0]["status"]

    answers = in_threads(retract, count=6)

    assert {status for status, _ in answers} == {200}
    assert [result for _, result in answers].count("created") == 1
    assert Adjustment.objects.count() == 1
