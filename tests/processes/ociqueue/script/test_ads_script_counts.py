"""The script sends what Google counted, once a run and after its uploads; nothing about it can stop uploads."""

import pytest

from ociqueue.models import ReadBack, UploadSummary
from tests.support.ads_script import ACK, EXPORT, make_many

COUNTS = "/api/oci/upload-summary"
# Zeros are left out and large numbers are text, as in Google's runtime.
SUMMARY = {
    "client": "GOOGLE_ADS_WEB_CLIENT",
    "conversionActionId": "9007199254",
    "conversionActionName": "Satış",
    "dailySummaries": [
        {"uploadDate": "2026-11-15", "successfulCount": "12", "failedCount": "1"},
        {"uploadDate": "2026-11-16", "pendingCount": "3"},
    ],
    "alerts": [{"error": {"conversionUploadError": "CLICK_NOT_FOUND"}, "errorPercentage": 0.08}],
}
SUMMARIES = [{"offlineConversionUploadConversionActionSummary": SUMMARY}]


def test_the_counts_are_sent_once_after_all_uploads(run_script, site) -> None:
    make_many(site, 3)

    run = run_script(site, config={"pageSize": 2}, summaries=SUMMARIES)

    assert run.calls == [EXPORT, ACK, EXPORT, ACK, COUNTS]
    assert len(run.queries) == 1
    assert "FROM offline_conversion_upload_conversion_action_summary" in run.queries[0]
    assert run.error is None
    rows = UploadSummary.objects.order_by("upload_date")
    assert [(str(row.upload_date), row.action_id, row.successful, row.failed, row.pending) for row in rows] == [
        ("2026-11-15", 9007199254, 12, 1, 0),
        ("2026-11-16", 9007199254, 0, 0, 3),
    ]
    stored = ReadBack.objects.get()
    assert (stored.customer_id, stored.time_zone) == ("1234567890", "Europe/Istanbul")
    assert [alert["error"] for alert in stored.alerts] == ["CLICK_NOT_FOUND"]


@pytest.mark.parametrize(
    ("circumstances", "logged"),
    [
        ({"summaries": None}, "This account has no upload summaries."),
        ({"summaries": [{}]}, "Google's counts were not sent"),
        ({"answers": [{"path": COUNTS, "status": 400, "headers": {}, "body": "{}"}]}, "HTTP 400"),
        ({"answers": [{"path": COUNTS, "throws": "timed out", "times": 9}]}, "given up after 2 attempts"),
    ],
)
def test_counts_that_cannot_be_read_or_sent_do_not_fail_the_run(run_script, site, circumstances, logged) -> None:
    make_many(site, 1)

    run = run_script(site, **{"summaries": SUMMARIES, **circumstances})

    assert run.calls[:2] == [EXPORT, ACK]
    assert run.error is None
    assert any(logged in line for line in run.logs)
    assert run.logs[-1] == "Claimed 1, uploaded 1, invalid 0, not applied 0, unreported 0."


def test_an_account_without_summaries_sends_nothing(run_script, site) -> None:
    make_many(site, 1)

    assert run_script(site, summaries=[]).calls == [EXPORT, ACK]


def test_a_preview_asks_nothing(run_script, site) -> None:
    run = run_script(site, preview=True, summaries=SUMMARIES)

    assert (run.calls, run.queries) == ([], [])
