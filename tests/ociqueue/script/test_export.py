"""Handing rows out: eligibility, order, form, refusals."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis.strategies import datetimes, integers, lists, sampled_from

from kilit.api.input_model import EARLIEST, LATEST
from ociqueue.models import Conversion, Site
from ociqueue.values.local_times import LocalTimes

pytestmark = pytest.mark.django_db

# When clocks change, in New York and Dublin, on Lord Howe Island by half an hour, and a minute past midnight in Gaza.
CHANGES = [
    datetime.fromisoformat(f"{time}+00:00")
    for time in (
        *("2026-03-08T07:00", "2026-11-01T06:00", "2026-03-29T01:00", "2026-10-03T15:30", "2027-04-03T15:00"),
        "2011-03-31T22:01",
    )
]


def test_an_item_has_all_fields_and_strings_where_click_ids_are_absent(api, site, make_conversion) -> None:
    row = make_conversion(site, wbraid="Wb-1_x", action="Satış & Teklif", value="1234.50")

    (item,) = api.claim(site)

    assert item == {
        "id": f"seal_{row.pk}",
        "orderId": row.order_id,
        "gclid": "",
        "wbraid": "Wb-1_x",
        "gbraid": "",
        "conversionName": "Satış & Teklif",
        "conversionTime": LocalTimes(site.zone).format(row.conversion_time),
        "conversionValue": 1234.5,
        "conversionCurrency": "TRY",
        "claim": 1,
    }


def test_consent_is_handed_out_only_where_it_was_given(api, site, make_conversion) -> None:
    given = {"consent_ad_user_data": "GRANTED", "consent_ad_personalization": "DENIED"}
    make_conversion(site)
    make_conversion(site, **given)
    make_conversion(site, consent_ad_personalization="GRANTED")

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()
    items = api.claim(site)

    assert [{**item, "claim": 1} for item in preview["items"]] == items
    assert [{name: text for name, text in item.items() if name.startswith("consent")} for item in items] == [
        {},
        {"consentAdUserData": "GRANTED", "consentAdPersonalization": "DENIED"},
        {"consentAdPersonalization": "GRANTED"},
    ]


def test_the_oldest_come_first_and_the_limit_holds(api, site, make_conversion) -> None:
    rows = [make_conversion(site) for _ in range(3)]

    first = api.claim(site, limit=2)
    rest = api.claim(site, limit=2)

    assert [item["id"] for item in first + rest] == [str(row) for row in rows]


def test_a_row_waits_for_its_retry_time(api, site, make_conversion) -> None:
    row = make_conversion(site)
    Conversion.objects.claim(limit=1)
    row.move("defer", claimed_at=None, next_retry_at=timezone.now() + timedelta(hours=1))

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()

    assert api.claim(site) == []
    assert (preview["counts"], preview["warnings"]) == (
        {"queued": 0, "skipped": 1},
        ["1 rows wait for their retry time."],
    )
    Conversion.objects.update(next_retry_at=timezone.now() - timedelta(seconds=1))
    assert len(api.claim(site)) == 1


def test_a_row_whose_attempts_are_used_up_is_not_claimed_again(api, site, make_conversion) -> None:
    make_conversion(site, attempt_count=5)

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()

    assert api.claim(site) == []
    assert preview["counts"] == {"queued": 0, "skipped": 1}
    assert "used up their attempts" in preview["warnings"][0]


def test_the_script_is_seen_when_it_pulls_and_not_when_it_previews(api, site) -> None:
    api.get("oci/google-ads-export", siteId=site.public_id)
    site.refresh_from_db()
    assert site.last_export_at is None

    api.claim(site)

    site.refresh_from_db()
    assert site.last_export_at is not None


@pytest.mark.parametrize(
    ("zone", "utc", "formatted"),
    [
        ("Europe/Istanbul", "2026-07-01T09:30:05", "2026-07-01 12:30:05+03:00"),
        ("UTC", "2026-07-01T09:30:05", "2026-07-01 09:30:05+00:00"),
        ("Asia/Kolkata", "2026-07-01T09:30:05", "2026-07-01 15:00:05+05:30"),
        # Spring forward: 2026-03-08, 02:00 does not exist.
        ("America/New_York", "2026-03-08T06:59:59", "2026-03-08 01:59:59-05:00"),
        ("America/New_York", "2026-03-08T07:00:00", "2026-03-08 03:00:00-04:00"),
        # Fall back: 2026-11-01, 01:30 happens twice, and the offset shows which.
        ("America/New_York", "2026-11-01T05:30:00", "2026-11-01 01:30:00-04:00"),
        ("America/New_York", "2026-11-01T06:30:00", "2026-11-01 01:30:00-05:00"),
    ],
)
def test_times_are_formatted_in_the_sites_zone(zone: str, utc: str, formatted: str) -> None:
    time = datetime.fromisoformat(utc).replace(tzinfo=UTC, microsecond=999_999)
    local = LocalTimes(Site(time_zone=zone).zone)

    assert (local.format(time), local.format_text(f"{time:%Y-%m-%d %H:%M:%S.%f}+00")) == (formatted, formatted)


ZONES = (
    *("Europe/Istanbul", "America/New_York", "Europe/Dublin", "Asia/Kolkata", "Asia/Kathmandu", "Africa/Monrovia"),
    *("Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns", "Antarctica/Troll", "Asia/Gaza", "UTC"),
)


@given(
    zone=sampled_from(ZONES),
    times=lists(datetimes(EARLIEST.replace(tzinfo=None), LATEST.replace(tzinfo=None)), min_size=1),
    near=integers(-7200, 7200),
)
def test_times_are_formatted_the_same_from_texts_of_the_database(zone: str, times: list[datetime], near: int) -> None:
    local = LocalTimes(ZoneInfo(zone))
    moments = [time.replace(tzinfo=UTC) for time in times]
    moments += [change + timedelta(seconds=seconds) for change in CHANGES for seconds in (-1, 0, near)]

    for moment in moments:
        # Without a fraction, PostgreSQL writes none.
        text = moment.isoformat(sep=" ").removesuffix(":00")
        assert local.format_text(text) == local.format(moment)


def test_a_session_in_another_zone_gets_the_same_times(api, site, make_conversion) -> None:
    row = make_conversion(site)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TimeZone = 'Asia/Kolkata'")

    (item,) = api.claim(site)

    assert item["conversionTime"] == LocalTimes(site.zone).format(row.conversion_time)


def test_the_cap_of_attempts_holds_when_it_is_changed(api, site, make_conversion, settings) -> None:
    row = make_conversion(site, attempt_count=3)
    settings.SCRIPT_MAX_ATTEMPTS = 3
    before = api.claim(site)

    settings.SCRIPT_MAX_ATTEMPTS = 4

    assert (before, [item["id"] for item in api.claim(site)]) == ([], [f"seal_{row.pk}"])


@pytest.mark.parametrize("claims", ["true", "false"])
def test_a_site_that_sends_through_the_api_is_refused(api, site, make_conversion, claims: str) -> None:
    """A preview would show rows that no script will ever be handed."""
    make_conversion(site)
    Site.objects.update(sync_method="api")

    answer = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported=claims)

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "NOT_A_SCRIPT_SITE")


def test_a_paused_site_is_refused_with_its_reason(api, site, make_conversion) -> None:
    make_conversion(site)
    Site.objects.update(is_paused=True, pause_reason="prices are wrong")

    answer = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true")

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SITE_PAUSED")
    assert "prices are wrong" in answer.json()["error"]["message"]
    assert answer["Retry-After"] == "3600"
    assert Conversion.objects.get().status == "QUEUED"
    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()
    assert preview["warnings"] == ["The site is paused: prices are wrong"]


@pytest.mark.parametrize("query", [{}, {"siteId": ""}, {"limit": "0"}, {"limit": "10001"}, {"limit": "many"}])
def test_a_bad_query_is_refused_by_the_name_of_its_field(api, site, query: dict) -> None:
    answer = api.get("oci/google-ads-export", **({"siteId": site.public_id} if "limit" in query else {}), **query)

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == ("limit" if "limit" in query else "siteId")


def test_a_head_request_claims_nothing(api, site, make_conversion) -> None:
    make_conversion(site)

    answer = api.client.head(
        f"/api/oci/google-ads-export?siteId={site.public_id}&markAsExported=true", headers=api.headers
    )

    assert answer.status_code == 405
    assert Conversion.objects.get().status == "QUEUED"
