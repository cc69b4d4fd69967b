"""Where a conversion happened: taken at every entrance, kept with the row, and sent to the Data Manager API alone."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Conversion
from ociqueue.uploader.datamanager.provider import ingest_body
from tests.support.conversions import YESTERDAY, make_failed
from tests.support.imports import import_file
from tests.support.redelivered import ORDER, fail, only, send
from tests.support.uploads import account

pytestmark = pytest.mark.django_db


def sent_source(row: Conversion) -> str:
    (event,) = json.loads(ingest_body(account(), [row], validate_only=False))["events"]
    return str(event["eventSource"])


@pytest.mark.parametrize("source", ["WEB", "APP", "IN_STORE", "PHONE", "MESSAGE", "OTHER"])
def test_a_conversion_may_say_where_it_happened(api, site, source: str) -> None:
    item = {**ORDER, "eventSource": source}

    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [item]})

    assert answer.json()["created"] == 1
    assert sent_source(Conversion.objects.get()) == source


@pytest.mark.parametrize("fields", [{}, {"eventSource": ""}, {"eventSource": None}])
def test_it_is_the_web_if_nothing_is_said(site, fields: Any) -> None:
    send(site, **fields)

    assert sent_source(Conversion.objects.get()) == "WEB"


@pytest.mark.parametrize("source", ["web", "SHOP", 7, ["WEB"]])
def test_another_source_is_refused(api, site, source: Any) -> None:
    item = {**ORDER, "eventSource": source}

    (result,) = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [item]}).json()["results"]

    assert [error["field"] for error in result["errors"]] == ["eventSource"]


def test_the_database_refuses_another_source(site, sql) -> None:
    send(site)

    with pytest.raises(IntegrityError, match="conversion_event_source_is_known"), transaction.atomic():
        sql("UPDATE offline_conversion_queue SET event_source = 'SHOP'")


def test_a_file_has_a_column_for_it_in_any_case(site) -> None:
    header = "conversionName,gclid,conversionTime,conversionValue,conversionCurrency,sourceKey,eventSource"
    lines = [
        f"Sale,Cj0KCQ-{n},{YESTERDAY},5,TRY,key-{n},{source}" for n, source in enumerate(["phone", "In_Store", ""])
    ]

    import_file(site, "\n".join([header, *lines]).encode())

    sources = Conversion.objects.order_by("source_key").values_list("event_source", flat=True)
    assert list(sources) == ["PHONE", "IN_STORE", "WEB"]


def test_a_second_delivery_that_says_nothing_keeps_it(site) -> None:
    send(site, eventSource="PHONE")

    assert send(site)["status"] == "duplicate"
    assert only().event_source == "PHONE"


def test_a_second_delivery_corrects_it_in_place_and_in_a_copy(site) -> None:
    send(site, eventSource="PHONE")

    waiting = send(site, eventSource="APP")
    fail()
    copy = send(site, eventSource="IN_STORE")

    assert (waiting["status"], waiting["differs"]) == ("corrected", ["eventSource"])
    assert (copy["status"], copy["differs"]) == ("corrected", ["eventSource"])
    assert [row.event_source for row in Conversion.objects.order_by("pk")] == ["APP", "IN_STORE"]


@pytest.mark.parametrize(("text", "source"), [("", "PHONE"), ("WEB", "WEB")])
def test_a_correction_changes_it_and_an_empty_cell_keeps_it(site, text: str, source: str) -> None:
    (row,) = make_failed(site, event_source="PHONE")

    (result,) = replace_rows(site, [Correction(str(row), {"eventSource": text, "gclid": "Cj0KCQ-right"})])

    assert result.copy
    assert Conversion.objects.get(pk=result.copy.pk).event_source == source


def test_lookups_and_exports_say_it_and_a_script_does_not_get_it(api, site) -> None:
    send(site, eventSource="PHONE")

    found = api.get("oci/conversions", siteId=site.public_id, sourceKey=ORDER["sourceKey"]).json()["conversions"]
    (item,) = api.claim(site)

    assert found[0]["eventSource"] == "PHONE"
    assert "eventSource" not in item
