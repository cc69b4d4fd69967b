"""What the Ads Script does when a server is busy, down or refuses, and when its time runs out."""

from datetime import timedelta

import pytest

from ociqueue.models import Conversion
from tests.support.ads_script import ACK, ACK_FAILED, BAD_TIME, COMPLETED, EXPORT, fresh, outcomes


def test_a_busy_server_is_asked_again_when_it_says(run_script, site, row) -> None:
    busy = {"status": 429, "headers": {"retry-after": "7"}}

    run = run_script(site, answers=[{"path": EXPORT, **busy, "times": 2}, {"path": ACK, **busy}])

    assert run.calls == [EXPORT] * 3 + [ACK] * 2
    assert run.sleeps == [7, 7, 7]
    assert run.error is None
    assert outcomes(row) == [COMPLETED]
    assert fresh(row).attempt_count == 1


def test_the_servers_own_limit_is_understood(run_script, make_site, settings) -> None:
    settings.RATE_PER_MINUTE = 0

    run = run_script(make_site())

    assert run.calls == [EXPORT] * 4
    assert run.error.startswith(f"{EXPORT}: HTTP 429 TOO_MANY_REQUESTS: ")
    assert all(0 < pause <= 60 for pause in run.sleeps)


@pytest.mark.parametrize("asked", ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "0", ""])
def test_a_server_that_names_no_time_is_asked_again_soon(asked: str, run_script, make_site) -> None:
    run = run_script(make_site(), answers=[{"path": EXPORT, "status": 429, "headers": {"Retry-After": asked}}])

    assert run.sleeps == [2]
    assert run.error is None


def test_a_server_that_wants_a_long_pause_gets_it_unless_rows_are_uploaded(run_script, site, row) -> None:
    overloaded = {"status": 429, "headers": {"Retry-After": "86400"}}

    claiming = run_script(site, answers=[{"path": EXPORT, **overloaded}])
    reporting = run_script(site, answers=[{"path": ACK, **overloaded}])

    assert (claiming.calls, claiming.sleeps) == ([EXPORT], [])
    assert "asked to wait 86400 s: the next run continues" in claiming.error
    assert (reporting.calls, reporting.sleeps) == ([EXPORT, ACK, ACK], [60])
    assert outcomes(row) == [COMPLETED]


def test_a_failing_server_is_asked_again_later_each_time(run_script, site, row) -> None:
    down = {"status": 500, "body": "<h1>Sorry</h1>"}

    run = run_script(site, answers=[{"path": EXPORT, **down, "times": 3}, {"path": ACK, **down, "times": 7}])

    assert run.sleeps == [2, 4, 8, 2, 4, 8, 16, 32, 60, 60]
    assert run.error is None
    assert outcomes(row) == [COMPLETED]


def test_a_server_that_stays_down_ends_the_run(run_script, site, row) -> None:
    run = run_script(site, answers=[{"path": EXPORT, "throws": "DNS error", "times": 99}])

    assert run.calls == [EXPORT] * 4
    assert run.error == f"{EXPORT}: no response (DNS error) (given up after 4 attempts)"
    assert fresh(row).status == "QUEUED"


def test_an_export_lost_after_its_claim_is_reported_and_comes_back(run_script, site, make_conversion) -> None:
    lost, other = make_conversion(site, gclid="lost"), make_conversion(site, gclid="other")
    cut_off = {"path": EXPORT, "reaches": True, "status": 200, "body": '[{"id": "seal_1", "gclid": "lo'}

    run = run_script(site, config={"pageSize": 1}, answers=[cut_off])

    assert run.cells("Google Click ID") == ["other"]
    assert "Rows that the lost request may have claimed are available again after 15 minutes" in run.logs[0]
    assert [fresh(row).status for row in (lost, other)] == ["PROCESSING", "COMPLETED"]

    Conversion.objects.recover(min_age=timedelta(0))
    run_script(site)

    assert outcomes(lost) == [COMPLETED]
    assert fresh(lost).attempt_count == 2


def test_an_ack_whose_answer_was_lost_is_repeated_harmlessly(run_script, site, row) -> None:
    run = run_script(site, answers=[{"path": ACK, "reaches": True, "throws": "Timed out"}])

    assert run.calls == [EXPORT, ACK, ACK]
    assert f"{ACK}: 1 of 1 rows were no longer PROCESSING." in run.logs
    assert run.error is None
    assert outcomes(row) == [COMPLETED]


def test_a_lost_ack_ends_the_run_and_the_log_says_why_it_is_harmless(run_script, site, make_conversion) -> None:
    row, spoiled = make_conversion(site, gclid="click"), make_conversion(site, gclid="spoiled")

    run = run_script(
        site,
        config={"pageSize": 2},
        spoiled={str(spoiled): {"conversionTime": "yesterday"}},
        answers=[{"path": ACK, "status": 502, "times": 99}],
    )

    assert run.calls == [EXPORT] + [ACK] * 8 + [ACK_FAILED]
    assert any("count once, by their Order ID" in line for line in run.logs)
    assert run.logs[-1] == "Claimed 2, uploaded 1, invalid 1, not applied 0, unreported 1."
    assert fresh(row).status == "PROCESSING"  # until the sweep brings it back
    assert outcomes(spoiled) == [BAD_TIME]


def test_a_refused_key_stops_the_run_and_stays_out_of_the_log(run_script, site, row) -> None:
    run = run_script(site, api_key="not-the-key")

    assert run.calls == [EXPORT]
    assert run.error.startswith(f"{EXPORT}: HTTP 401 UNAUTHENTICATED: ")
    assert run.logs == [f"Stopped: {run.error}", "Claimed 0, uploaded 0, invalid 0, not applied 0, unreported 0."]
    assert (fresh(row).status, fresh(row).attempt_count) == ("QUEUED", 0)


def test_a_site_sent_through_the_api_is_reported_so(run_script, make_site) -> None:
    run = run_script(make_site(sync_method="api"))

    assert run.calls == [EXPORT]
    assert "HTTP 409" in run.error


def test_a_paused_site_is_left_alone_and_its_reason_is_reported(run_script, make_site, make_conversion) -> None:
    site = make_site(is_paused=True, pause_reason="Prices are being corrected")
    row = make_conversion(site, gclid="click")

    run = run_script(site)

    assert run.calls == [EXPORT]
    assert "HTTP 503 SITE_PAUSED" in run.error
    assert "Prices are being corrected" in run.error
    assert fresh(row).status == "QUEUED"


def test_the_script_follows_no_redirect(run_script, make_site) -> None:
    elsewhere = {"path": EXPORT, "status": 302, "headers": {"Location": "http://elsewhere.invalid/"}}

    run = run_script(make_site(), answers=[elsewhere])

    assert run.calls == [EXPORT]
    assert run.error == f"{EXPORT}: HTTP 302 without a JSON error"


def test_no_page_is_claimed_near_the_runtime_limit(run_script, site, make_conversion) -> None:
    for number in range(5):
        make_conversion(site, gclid=f"click-{number}")

    run = run_script(site, config={"pageSize": 1}, secondsPerCall={EXPORT: 800})

    assert run.calls == [EXPORT, ACK, EXPORT, ACK]
    assert run.logs[0] == "The runtime limit is near: the remaining rows wait for the next run."
    assert run.error is None
    assert Conversion.objects.filter(status="COMPLETED").count() == 2
    assert Conversion.objects.filter(status="QUEUED", attempt_count=0).count() == 3


def test_no_retry_is_begun_that_would_outlast_the_runtime(run_script, site, make_conversion) -> None:
    make_conversion(site, gclid="click")

    exporting = run_script(site, secondsPerCall={EXPORT: 1499}, answers=[{"path": EXPORT, "status": 500, "times": 9}])
    reporting = run_script(site, secondsPerCall={ACK: 1650}, answers=[{"path": ACK, "status": 500, "times": 99}])

    assert exporting.calls == [EXPORT]
    assert "the runtime limit is near" in exporting.error
    assert reporting.calls == [EXPORT, ACK, ACK]
    assert sum(reporting.sleeps) < 30


def test_a_slash_after_the_address_does_no_harm(run_script, make_site, live_server) -> None:
    run = run_script(make_site(), config={"baseUrl": f"{live_server.url}/"})

    assert run.error is None
    assert run.calls == [EXPORT]


@pytest.mark.parametrize("name", ["baseUrl", "siteId", "timeZone"])
def test_an_empty_setting_stops_the_script(name: str, run_script, make_site) -> None:
    run = run_script(make_site(), config={name: ""})

    assert run.requests == []
    assert run.error == f"CONFIG.{name} is empty."
