"""The way in: a row is valid before it can exist."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from ociqueue.intake.enqueue import read_columns
from ociqueue.models import Conversion, Site
from ociqueue.schemas.conversions import FIELDS
from tests.support.conversions import SALE, new_conversion
from tests.support.examples import few
from tests.support.garbage import values

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


def item(**fields: Any) -> dict[str, Any]:
    good = {**SALE, "gclid": "Cj0KCQ-_x", "conversionValue": 99.9, "conversionCurrency": "TRY"}
    return {name: value for name, value in {**good, **fields}.items() if value is not ...}


def post(api, site, *items: Any) -> dict[str, Any]:
    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": list(items)})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_good_ones_are_stored_when_others_are_bad(api, site) -> None:
    reported = post(api, site, item(), item(gclid=...), "nonsense", None, item(gclid="second"))

    assert (reported["ok"], reported["created"], reported["duplicates"], reported["invalid"]) == (True, 2, 0, 3)
    assert [result["status"] for result in reported["results"]] == ["created", *["invalid"] * 3, "created"]
    assert reported["results"][1]["errors"] == [
        {"field": "gclid", "message": "Exactly one of gclid, wbraid and gbraid is required."}
    ]
    assert set(Conversion.objects.values_list("gclid", flat=True)) == {"Cj0KCQ-_x", "second"}
    assert reported["results"][0]["id"] == f"seal_{Conversion.objects.get(gclid='Cj0KCQ-_x').pk}"


def test_a_source_key_is_stored_once_and_answers_the_first_id(api, site) -> None:
    first = post(api, site, item(sourceKey="order-1"))
    again = post(api, site, item(sourceKey="order-1"), item(sourceKey="order-2"), item(sourceKey="order-2"))

    assert [result["status"] for result in again["results"]] == ["duplicate", "created", "duplicate"]
    assert again["results"][0]["id"] == first["results"][0]["id"]
    assert again["results"][2]["id"] == again["results"][1]["id"]
    assert Conversion.objects.count() == 2
    assert float(Conversion.objects.get(source_key="order-1").value) == 99.9


@pytest.mark.django_db(transaction=True)
def test_overlapping_deliveries_in_opposite_order_do_not_deadlock(site, api, in_threads) -> None:
    items = [item(sourceKey=f"order-{number}", gclid=f"c{number}") for number in range(1000)]

    reported = in_threads(lambda number: post(api, site, *(items if number % 2 else reversed(items))), count=4)

    assert sum(report["created"] for report in reported) == 1000
    assert [result["index"] for result in reported[0]["results"]] == list(range(1000))


@pytest.mark.parametrize(
    "bad", [{"\ud800x": 1}, {"gclid": "\ud800"}, {"conversionName": {"a": ["\ud800"]}}, ["\ud800"], "\ud800"]
)
def test_half_a_surrogate_pair_anywhere_leaves_the_good_ones_stored(api, site, bad) -> None:
    reported = post(api, site, item(), bad)

    assert (reported["created"], reported["invalid"]) == (1, 1)


@pytest.mark.parametrize("depth", [500, 940, 960])
def test_deep_nesting_is_refused_not_a_fault(api, site, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    body = f'{{"siteId": "{site.public_id}", "conversions": [{deep}]}}'

    answer = api.client.post("/api/oci/conversions", body, content_type="application/json", headers=api.headers)

    assert answer.status_code in {200, 400}


def test_order_ids_are_stable_and_never_depend_on_value_or_time(site) -> None:
    def order(**columns: Any) -> str:
        return new_conversion(site, **columns).order_id

    assert order(source_key="1") == order(source_key="1", value=5, conversion_time=NOW)
    assert order(source_key="1") != order(source_key="2")
    assert order(source_key="1") != order(source_key="1", action="Teklif")
    assert order() != order()
    assert len(order()) <= 64


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"gclid": "  "}, "gclid", "may not be empty"),
        ({"gclid": ""}, "gclid", "Exactly one"),
        ({"wbraid": "0AA"}, "gclid", "Exactly one"),
        ({"gclid": "null"}, "gclid", "missing value"),
        ({"gclid": "Undefined"}, "gclid", "missing value"),
        ({"gclid": "a b"}, "gclid", "white space"),
        ({"gclid": "a\ud800"}, "gclid", "broken Unicode"),
        ({"gclid": "a\x00"}, "gclid", "Control characters"),
        ({"gclid": 5}, "gclid", "Expected a string"),
        ({"gclid": "x" * 513}, "gclid", "At most 512"),
        ({"conversionName": ...}, "conversionName", "required"),
        ({"conversionName": "x" * 101}, "conversionName", "At most 100"),
        ({"conversionTime": ...}, "conversionTime", "required"),
        ({"conversionTime": "yesterday"}, "conversionTime", "ISO 8601"),
        ({"conversionTime": "2026-11-01T10:00:00"}, "conversionTime", "offset is missing"),
        ({"conversionTime": "2026-11-01T10:00:00"}, "conversionTime", "2026-11-15T13:45:00+03:00"),
        ({"conversionTime": "18/11/2026 13:00"}, "conversionTime", "in March or in April. Expected ISO 8601"),
        ({"conversionTime": 1700000000}, "conversionTime", "Expected a string"),
        ({"conversionTime": "2999-01-01T00:00:00Z"}, "conversionTime", "in the future"),
        ({"conversionTime": "2001-01-01T00:00:00Z"}, "conversionTime", "90 days"),
        ({"conversionTime": "0001-01-01T00:00:00+14:00"}, "conversionTime", ""),
        ({"conversionValue": ...}, "conversionValue", "required"),
        ({"conversionValue": -1}, "conversionValue", "finite number from 0"),
        ({"conversionValue": True}, "conversionValue", "Expected a number"),
        ({"conversionValue": "1_000"}, "conversionValue", "Expected a number"),
        ({"conversionValue": "١٢"}, "conversionValue", "Expected a number"),
        ({"conversionValue": "1.2.3"}, "conversionValue", "Expected a number"),
        ({"conversionValue": "NaN"}, "conversionValue", "finite"),
        ({"conversionValue": "1e999999"}, "conversionValue", "finite"),
        ({"conversionValue": 10**12}, "conversionValue", "finite"),
        ({"conversionValue": 1.005}, "conversionValue", "TRY has 2 digits"),
        ({"conversionValue": 1.5, "conversionCurrency": "JPY"}, "conversionValue", "JPY has 0 digits"),
        ({"conversionCurrency": "TL"}, "conversionCurrency", "not an ISO 4217 currency"),
        ({"conversionCurrency": "12€"}, "conversionCurrency", "not an ISO 4217 currency"),
        ({"conversionCurrency": "ZZZ"}, "conversionCurrency", "not an ISO 4217 currency"),
        ({"conversionCurrency": "ßp"}, "conversionCurrency", "not an ISO 4217 currency"),
        ({"conversionCurrency": "ınr"}, "conversionCurrency", "not an ISO 4217 currency"),
        ({"consent": "yes"}, "consent", "GRANTED"),
        ({"consent": []}, "consent", "GRANTED"),
        ({"consentAdUserData": "granted"}, "consentAdUserData", "GRANTED"),
        ({"consentAdPersonalization": "UNSPECIFIED"}, "consentAdPersonalization", "GRANTED"),
        (
            {"consent": "GRANTED", "consentAdPersonalization": "DENIED"},
            "consent",
            "consent is GRANTED, but consentAdPersonalization is DENIED. Leave consent out.",
        ),
        (
            {"consent": "DENIED", "consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"},
            "consent",
            "consent is DENIED, but consentAdUserData is GRANTED.",
        ),
        ({"sourceKey": "x" * 201}, "sourceKey", "At most 200"),
        ({"sourcekey": "1"}, "sourcekey", "Unknown field. Known fields"),
    ],
)
def test_a_bad_conversion_is_refused_by_the_name_of_its_field(
    api, site, fields: dict, field: str, message: str
) -> None:
    reported = post(api, site, item(**fields))

    errors = {error["field"]: error["message"] for error in reported["results"][0]["errors"]}
    assert message in errors[field]
    assert not Conversion.objects.exists()


def test_every_fault_is_named_at_once(api, site) -> None:
    reported = post(api, site, {"conversionValue": "x"})

    fields = {error["field"] for error in reported["results"][0]["errors"]}
    assert fields == {"gclid", "conversionName", "conversionTime", "conversionValue"}


def test_what_was_sent_is_what_is_stored(api, site) -> None:
    post(api, site, item(gclid="  Cj0K-_Q==  ", conversionValue="7.125", conversionCurrency="kwd", consent="DENIED"))

    row = Conversion.objects.get()
    assert (row.gclid, str(row.value), row.currency, row.consent_ad_user_data) == (
        "Cj0K-_Q==",
        "7.125",
        "KWD",
        "DENIED",
    )


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({}, ("UNSPECIFIED", "UNSPECIFIED")),
        ({"consent": "GRANTED"}, ("GRANTED", "GRANTED")),
        ({"consent": "UNSPECIFIED"}, ("UNSPECIFIED", "UNSPECIFIED")),
        ({"consentAdUserData": "GRANTED"}, ("GRANTED", "UNSPECIFIED")),
        ({"consentAdPersonalization": "DENIED"}, ("UNSPECIFIED", "DENIED")),
        ({"consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"}, ("GRANTED", "DENIED")),
        ({"consentAdUserData": None, "consentAdPersonalization": ""}, ("UNSPECIFIED", "UNSPECIFIED")),
        ({"consent": "DENIED", "consentAdUserData": "DENIED"}, ("DENIED", "DENIED")),
        ({"consent": "UNSPECIFIED", "consentAdUserData": "DENIED"}, ("DENIED", "UNSPECIFIED")),
    ],
)
def test_consent_is_stored_in_two_columns(api, site, sent: dict, stored: tuple) -> None:
    post(api, site, item(**sent))

    row = Conversion.objects.get()
    assert (row.consent_ad_user_data, row.consent_ad_personalization) == stored


@pytest.mark.parametrize("offset", ["+16:00", "-23:59", "+03:00:00.5"])
def test_an_odd_offset_costs_nobody_anything(api, site, offset: str) -> None:
    """ISO 8601 as Python reads it, with offsets that PostgreSQL refuses; the moment is stored all the same."""
    sent = f"{NOW - timedelta(hours=30):%Y-%m-%dT%H:%M:%S}{offset}"

    reported = post(api, site, item(), item(gclid="odd", conversionTime=sent), item(gclid="after"))

    assert reported["created"] == 3
    assert Conversion.objects.get(gclid="odd").conversion_time == datetime.fromisoformat(sent)


def test_a_missing_currency_is_never_guessed_silently(api, site) -> None:
    defaulted = post(api, site, item(conversionCurrency=...))
    Site.objects.update(default_currency="")
    refused = post(api, site, item(conversionCurrency=...))

    assert defaulted["results"][0]["defaulted"] == {"conversionCurrency": "TRY"}
    assert refused["results"][0]["errors"] == [{"field": "conversionCurrency", "message": "This field is required."}]


@pytest.mark.parametrize("conversions", [[], "x", None, [{}] * 5001])
def test_a_batch_has_one_to_five_thousand(api, site, conversions) -> None:
    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": conversions})

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == "conversions"


def test_a_large_batch_takes_as_many_statements_as_a_small_one(api, site, django_assert_max_num_queries) -> None:
    with django_assert_max_num_queries(14):
        reported = post(api, site, *(item(gclid=f"c{number}", sourceKey=str(number)) for number in range(2000)))

    assert reported["created"] == 2000


@pytest.mark.parametrize(
    "columns",
    [
        {"value": -1},
        {"currency": "try"},
        {"attempt_count": 1, "attempts_forgiven": 2},
        {"claimed_at": NOW},
        {"uploaded_at": NOW},
    ],
)
def test_the_database_refuses_a_row_that_is_not_valid(site, columns: dict) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        new_conversion(site, **columns).save()


def test_the_database_refuses_a_value_that_is_not_a_number(site, make_conversion, sql) -> None:
    make_conversion(site)

    with pytest.raises(IntegrityError, match="conversion_value_is_a_price"), transaction.atomic():
        sql("UPDATE offline_conversion_queue SET value = 'NaN'")


@few(200)
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(), values) | values)
def test_no_input_is_a_fault_of_ours(raw: Any) -> None:
    read = read_columns(Site(name="x"), raw, now=NOW)

    assert isinstance(read, dict) or all(error["message"] for error in read)
