"""What shops send a little wrong, and what is not taken for it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from ociqueue.codes.google import GOOGLE_ADS
from ociqueue.intake.enqueue import read_columns
from ociqueue.models import Conversion, Site
from tests.support.redelivered import ORDER

NOW = datetime.now(UTC)
SITE = Site(name="Mobilya")


def read(**fields: Any) -> Any:
    return read_columns(SITE, {**ORDER, **fields}, now=NOW)


@pytest.mark.parametrize(
    "text", ["{gclid}", "{{gclid}}", "%7Bgclid%7D", "[gclid]", "<gclid>", "%gclid%", "${gclid}", "gclid", "GCLID", "{x"]
)
def test_an_unfilled_placeholder_is_no_click_id(text: str) -> None:
    assert read(gclid=text) == [
        {"field": "gclid", "message": f"“{text}” looks like a placeholder that was not filled in."}
    ]


@pytest.mark.parametrize("text", ["Cj0KCQ-_x=", "EAIaIQ.x", "abc%3D", "gclid-1", "0AAAAAo~x", "c1"])
def test_a_click_id_stays_as_it_is(text: str) -> None:
    assert read(gclid=text)["gclid"] == text


CLICK_ID_RULE = "A click id has at least two characters, and only A–Z, a–z, 0–9, _, -, ., ~, = and %."


@pytest.mark.parametrize("name", ["gclid", "wbraid", "gbraid"])
@pytest.mark.parametrize(
    "text", ["x", "-", "\u200b", "Cj0\u200bKCQ", "Cj0KCQ\u00ad", "Сj0KCQ", "Cj0KÇQ", "Cj0K…Q", "a+b", "a@b"]
)
def test_a_click_id_of_one_sign_or_of_another_alphabet_is_refused(name: str, text: str) -> None:
    assert {"field": name, "message": CLICK_ID_RULE} in read(**{"gclid": None, name: text})


@pytest.mark.parametrize(("ahead", "kept"), [(timedelta(minutes=5), NOW), (timedelta(seconds=-3), None)])
def test_a_clock_that_is_a_little_ahead_means_now(ahead: timedelta, kept: datetime | None) -> None:
    assert read(conversionTime=(NOW + ahead).isoformat())["conversion_time"] == (kept or NOW + ahead)


def test_a_clock_that_is_far_ahead_is_refused() -> None:
    (error,) = read(conversionTime=(NOW + timedelta(minutes=5, seconds=1)).isoformat())

    message = "The time is in the future; at most 5 minutes ahead are accepted."
    assert error == {"field": "conversionTime", "message": message}


@pytest.mark.parametrize(
    ("value", "currency", "stored"),
    [
        (Decimal("0.30000000000000004"), "TRY", "0.30"),
        ("1234.5600000001", "TRY", "1234.56"),
        (Decimal("99.99999999999999"), "JPY", "100"),
    ],
)
def test_noise_of_floating_point_numbers_is_rounded_to_the_currency(value: Any, currency: str, stored: str) -> None:
    assert read(conversionValue=value, conversionCurrency=currency)["value"] == Decimal(stored)


@pytest.mark.parametrize("name", ["UNPARSEABLE_GCLID", "UNPARSEABLE_WBRAID", "UNPARSEABLE_GBRAID"])
def test_a_malformed_click_id_has_the_hint_that_the_guide_promises(name: str) -> None:
    assert "how the source stores click ids" in GOOGLE_ADS["conversion_upload_error"][name].entry.hint


@pytest.mark.django_db
def test_a_dry_run_in_the_body_stores_nothing(api, site) -> None:
    answer = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [ORDER, {}], "dryRun": True}).json()
    adjusted = api.post(
        "oci/adjustments",
        {"siteId": site.public_id, "adjustments": [{"sourceKey": "x", "kind": "RETRACTION"}], "dryRun": True},
    )

    assert (answer["created"], answer["invalid"]) == (1, 1)
    assert answer["results"][0] == {"index": 0, "status": "created"}
    assert adjusted.status_code == 200
    assert not Conversion.objects.exists()


@pytest.mark.django_db
def test_a_second_delivery_of_a_time_that_was_ahead_is_a_duplicate(api, site) -> None:
    ahead = (datetime.now(UTC) + timedelta(minutes=2)).isoformat()
    body = {"siteId": site.public_id, "conversions": [{**ORDER, "conversionTime": ahead}]}

    first, again = api.post("oci/conversions", body).json(), api.post("oci/conversions", body).json()

    assert again["results"] == [{"index": 0, "status": "duplicate", "id": first["results"][0]["id"]}]


@pytest.mark.django_db
def test_the_cron_url_of_the_cap_takes_a_minimum_age(client, settings, site, make_conversion) -> None:
    settings.CRON_SECRET = "tick"
    row = make_conversion(site, attempt_count=5)

    def call(age: str) -> Any:
        return client.get(f"/api/cron/oci/attempt-cap?minAgeMinutes={age}", headers={"authorization": "Bearer tick"})

    assert [call(age).status_code for age in ("-1", "x", "1000000")] == [400, 400, 400]
    assert call("15").json() == {"ok": True, "result": "Capped 0."}
    assert call("0").json() == {"ok": True, "result": "Capped 1."}
    row.refresh_from_db()
    assert row.provider_error_code == "MAX_ATTEMPTS"
