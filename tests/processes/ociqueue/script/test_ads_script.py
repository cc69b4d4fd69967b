"""The Ads Script, run as it is under Node; its HTTP goes to the live server."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Model

from kilit.lock.models import Event
from ociqueue.models import Conversion, Site
from ociqueue.script.ads_script import KEY_PLACEHOLDER
from tests.support.ads_script import (
    ACK,
    ACK_FAILED,
    BAD_TIME,
    COMPLETED,
    EXPORT,
    NOT_TAKEN,
    SHARED_COLUMNS,
    Run,
    fresh,
    make_many,
    outcomes,
)


def table(model: type[Model]) -> list[dict[str, Any]]:
    """Return a whole table, for comparing."""
    return list(model._default_manager.order_by("pk").values())


def test_a_waiting_row_is_uploaded_cell_by_cell_and_completed(run_script, make_site, make_conversion) -> None:
    site = make_site(time_zone="Europe/Istanbul")
    yesterday = (datetime.now(UTC) - timedelta(days=1)).replace(hour=21, minute=30, second=5, microsecond=0)
    row = make_conversion(
        site,
        gclid="Cj0KCQ-_x=",
        action="Sale, “big”",
        conversion_time=yesterday,
        value=Decimal("149.90"),
        currency="TRY",
    )

    run = run_script(site)

    [upload] = run.uploads
    local_time = f"{(yesterday + timedelta(hours=3)):%Y-%m-%d} 00:30:05+03:00"
    assert upload == {
        "columns": ["Google Click ID", *SHARED_COLUMNS],
        "options": {"moneyInMicros": False, "timeZone": "Europe/Istanbul"},
        "offline": True,
        "rows": [["Cj0KCQ-_x=", "Sale, “big”", local_time, 149.9, "TRY", row.order_id]],
        "outcome": "applied",
    }
    assert run.bodies(ACK) == [{"siteId": site.public_id, "queueIds": [str(row)], "claims": {str(row): 1}}]
    assert run.calls == [EXPORT, ACK]
    assert run.error is None
    assert run.logs == ["Claimed 1, uploaded 1, invalid 0, not applied 0, unreported 0."]
    row.refresh_from_db()
    assert (row.status, row.attempt_count, row.uploaded_at) == ("COMPLETED", 1, None)


def test_each_kind_of_click_id_goes_into_its_own_column(run_script, site, make_conversion) -> None:
    rows = [make_conversion(site, **{kind: f"{kind}-1"}) for kind in ("gclid", "wbraid", "gbraid")]

    run = run_script(site)

    assert [upload["columns"] for upload in run.uploads] == [
        ["Google Click ID", *SHARED_COLUMNS],
        ["WBRAID", *SHARED_COLUMNS],
        ["GBRAID", *SHARED_COLUMNS],
    ]
    assert run.cells("Google Click ID") == ["gclid-1"]
    assert run.cells("WBRAID") == ["wbraid-1"]
    assert run.cells("GBRAID") == ["gbraid-1"]
    assert run.calls == [EXPORT, ACK]
    assert outcomes(*rows) == [COMPLETED] * 3


def test_a_thousand_rows_are_worked_in_pages(run_script, site) -> None:
    rows = make_many(site, 1000)

    run = run_script(site, config={"pageSize": 300})

    assert run.logs == ["Claimed 1000, uploaded 1000, invalid 0, not applied 0, unreported 0."]
    assert [len(upload["rows"]) for upload in run.uploads] == [300, 300, 300, 100]
    assert sorted(run.cells("Order ID")) == sorted(row.order_id for row in rows)
    assert [len(body["queueIds"]) for body in run.bodies(ACK)] == [300, 300, 300, 100]
    assert {request["query"]["limit"] for request in run.requests if request["path"] == EXPORT} == {"300"}
    assert Conversion.objects.filter(status="COMPLETED", attempt_count=1).count() == 1000


def test_a_page_larger_than_a_report_is_reported_in_batches(run_script, site) -> None:
    make_many(site, 1001)

    run = run_script(site, config={"pageSize": 2000})

    assert [len(body["queueIds"]) for body in run.bodies(ACK)] == [1000, 1]
    assert Conversion.objects.filter(status="COMPLETED").count() == 1001


def test_a_queue_that_ends_with_a_full_page_is_asked_once_more(run_script, site, make_conversion) -> None:
    rows = [make_conversion(site, gclid=f"click-{number}") for number in range(2)]

    run = run_script(site, config={"pageSize": 2})

    assert run.calls == [EXPORT, ACK, EXPORT]
    assert outcomes(*rows) == [COMPLETED] * 2


SPOILS = [
    ({"gclid": ""}, "MISSING_CLICK_ID"),
    ({"gclid": None}, "MISSING_CLICK_ID"),
    ({"wbraid": "w"}, "INVALID_CLICK_ID"),
    ({"gclid": "NULL"}, "INVALID_CLICK_ID"),
    ({"gclid": " undefined "}, "INVALID_CLICK_ID"),
    ({"gclid": "  "}, "INVALID_CLICK_ID"),
    ({"gclid": 5}, "INVALID_CLICK_ID"),
    ({"conversionTime": "2026-11-14T10:00:00+03:00"}, "INVALID_TIME_FORMAT"),
    ({"conversionTime": "2026-11-14 10:00:00"}, "INVALID_TIME_FORMAT"),
    ({"conversionTime": "2026-11-14 10:00:00+03:00\n"}, "INVALID_TIME_FORMAT"),
    ({"conversionTime": None}, "INVALID_TIME_FORMAT"),
    ({"conversionValue": "12.50"}, "INVALID_VALUE"),
    ({"conversionValue": -1}, "INVALID_VALUE"),
    ({"conversionValue": None}, "INVALID_VALUE"),
    ({"conversionCurrency": "try"}, "INVALID_CURRENCY"),
    ({"conversionCurrency": "LIRA"}, "INVALID_CURRENCY"),
    ({"conversionName": " "}, "MISSING_CONVERSION_NAME"),
    ({"orderId": ""}, "MISSING_ORDER_ID"),
    ({"consentAdUserData": "yes"}, "INVALID_CONSENT"),
    ({"consentAdPersonalization": None}, "INVALID_CONSENT"),
]


def test_every_fault_is_found_before_the_upload(run_script, site, make_conversion) -> None:
    good = make_conversion(site, gclid="good", value=0)
    rows = [make_conversion(site, gclid="click") for _ in SPOILS]

    run = run_script(site, spoiled={str(row): change for row, (change, _) in zip(rows, SPOILS, strict=True)})

    assert [row.provider_error_code for row in map(fresh, rows)] == [code for _, code in SPOILS]
    assert {row.provider_error_category for row in map(fresh, rows)} == {"VALIDATION"}
    assert run.cells("Order ID") == [good.order_id]
    assert outcomes(good) == [COMPLETED]


def test_validation_failures_are_reported_once_per_group(run_script, site, make_conversion) -> None:
    late, later, nameless, good = [make_conversion(site, gclid=f"click-{number}") for number in range(4)]
    spoiled = {
        str(late): {"conversionTime": "yesterday"},
        str(later): {"conversionTime": "tomorrow"},
        str(nameless): {"conversionName": ""},
    }

    run = run_script(site, spoiled=spoiled)

    assert run.calls == [EXPORT, ACK, ACK_FAILED, ACK_FAILED]
    bad_times, bad_names = run.bodies(ACK_FAILED)
    assert bad_times == {
        "siteId": site.public_id,
        "queueIds": [str(late), str(later)],
        "claims": {str(late): 1, str(later): 1},
        "errorCode": "INVALID_TIME_FORMAT",
        "errorMessage": "Expected yyyy-mm-dd HH:mm:ss±HH:mm",
        "errorCategory": "VALIDATION",
    }
    assert bad_names["queueIds"] == [str(nameless)]
    assert outcomes(late, later, good) == [BAD_TIME, BAD_TIME, COMPLETED]
    assert outcomes(nameless) == [("FAILED", "MISSING_CONVERSION_NAME", "VALIDATION", "Expected a conversion name")]
    assert fresh(late).attempt_count == 1  # the claim counts, the report does not
    assert run.logs[-1] == "Claimed 4, uploaded 1, invalid 3, not applied 0, unreported 0."


def test_when_apply_throws_both_kinds_of_failure_are_reported(run_script, site, make_conversion) -> None:
    spoiled, appended, also_appended = [make_conversion(site, gclid=f"click-{number}") for number in range(3)]

    run = run_script(
        site,
        spoiled={str(spoiled): {"conversionTime": "yesterday"}},
        applyThrows={"Google Click ID": NOT_TAKEN[-1]},
    )

    assert run.calls == [EXPORT, ACK_FAILED, ACK_FAILED]
    assert outcomes(spoiled, appended, also_appended) == [BAD_TIME, NOT_TAKEN, NOT_TAKEN]
    assert run.error == "An upload failed; no further rows are claimed."


def test_when_apply_throws_for_one_kind_the_others_are_completed(run_script, site, make_conversion) -> None:
    by_gclid, by_wbraid = make_conversion(site, gclid="g"), make_conversion(site, wbraid="w")

    run = run_script(site, applyThrows={"WBRAID": NOT_TAKEN[-1]})

    assert [upload["outcome"] for upload in run.uploads] == ["applied", "threw"]
    assert outcomes(by_gclid, by_wbraid) == [COMPLETED, NOT_TAKEN]


@pytest.mark.parametrize("words", ["x" * 20_000, "a\x00b", "half \ud83d", "🔒" * 999, "line\nline", ""])
def test_whatever_apply_throws_can_be_reported(words: str, run_script, site, row) -> None:
    run_script(site, applyThrows={"Google Click ID": words})

    assert (fresh(row).status, fresh(row).provider_error_code) == ("FAILED", "UPLOAD_EXCEPTION")


def test_when_apply_throws_the_rest_of_the_queue_is_left_alone(run_script, site, make_conversion) -> None:
    for number in range(5):
        make_conversion(site, gclid=f"click-{number}")

    run = run_script(site, config={"pageSize": 2}, applyThrows={"Google Click ID": "click-0"})

    assert run.calls == [EXPORT, ACK_FAILED]
    assert Conversion.objects.filter(status="FAILED").count() == 2
    assert Conversion.objects.filter(status="QUEUED", attempt_count=0).count() == 3
    assert not any("click-0" in line for line in run.logs)


def test_in_preview_mode_nothing_happens_at_all(run_script, site, make_conversion) -> None:
    make_conversion(site, gclid="click")
    api_key = site.issue_key(name="script")
    before = [table(model) for model in (Conversion, Event, Site)]

    run = run_script(site, api_key=api_key, preview=True)

    assert run == Run(
        queries=[],
        uploads=[],
        requests=[],
        logs=["Preview: nothing was claimed, uploaded or reported. Run the script to do so."],
        sleeps=[],
        error=None,
    )
    assert [table(model) for model in (Conversion, Event, Site)] == before


def test_the_key_and_the_click_ids_never_reach_the_log(run_script, site, make_conversion) -> None:
    for number in range(3):
        make_conversion(site, gclid=f"click-{number}")
    first = Conversion.objects.earliest("created_at", "pk")
    api_key = site.issue_key(name="script")
    echo = json.dumps({"error": {"code": "ECHO", "message": f"You sent {api_key}"}})

    run = run_script(
        site,
        api_key=api_key,
        spoiled={str(first): {"conversionTime": "yesterday"}},
        applyThrows={"Google Click ID": "click-1 is odd"},
        answers=[
            {"path": EXPORT, "throws": f"Bad header x-api-key: {api_key}"},
            {"path": EXPORT, "status": 200, "body": 'click-0"'},
            {"path": ACK_FAILED, "status": 500, "body": echo},
            {"path": ACK_FAILED, "status": 403, "body": echo},
        ],
    )

    reported = "\n".join([*run.logs, run.error])
    assert api_key not in reported
    assert "click-" not in reported
    assert "You sent [key]" in reported
    assert {request["headers"]["x-api-key"] for request in run.requests} == {api_key}


def test_a_key_that_was_never_pasted_stops_the_script(run_script, make_site) -> None:
    run = run_script(make_site(), api_key=KEY_PLACEHOLDER)

    assert run.requests == []
    assert run.logs[0] == "Stopped: Paste the site's API key into CONFIG.apiKey at the top of this script."
    assert run.error is not None


def test_a_run_that_reports_late_leaves_the_rows_to_the_newer_claim(run_script, make_site, make_conversion) -> None:
    row = make_conversion(make_site())

    run = run_script(row.site, spoiled={str(row): {"conversionTime": "yesterday", "claim": 7}})

    assert run.bodies(ACK_FAILED)[0]["claims"] == {str(row): 7}
    assert (fresh(row).status, fresh(row).provider_error_code) == ("PROCESSING", "")
