"""The verification checklist of the determinism plan, and its five locks, one test each."""

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion
from tests.support.api import Api
from tests.support.conversions import make_failed

pytestmark = pytest.mark.django_db

ERROR = {"code": "INVALID_TIME_FORMAT", "message": "bad time"}


@pytest.fixture
def operator(site, make_person) -> Api:
    return Api(client=make_person(sites={site: "operator"}))


def act(operator: Api, site, row: Conversion, action: str, **body: object) -> dict:
    answer = operator.post("oci/queue-actions", {"siteId": site.public_id, "action": action, "ids": [str(row)], **body})
    assert answer.status_code == 200, answer.content
    row.refresh_from_db()
    return answer.json()


def test_export_claim_increments_attempt_count_by_one(api, site, make_conversion) -> None:
    """Lock 1: one atomic statement sets the state, the time and the counter."""
    row = make_conversion(site)

    (item,) = api.claim(site)

    row.refresh_from_db()
    assert item["id"] == f"seal_{row.pk}"
    assert (row.status, row.attempt_count) == ("PROCESSING", 1)
    assert row.claimed_at is not None
    assert row.updated_at == row.claimed_at


def test_attempt_cap_fails_rows_at_five_attempts(site, make_conversion) -> None:
    """Lock 2: QUEUED, RETRY and PROCESSING at the cap fail with the three agreed values."""
    spent, fresh = make_conversion(site, attempt_count=5), make_conversion(site, attempt_count=4)

    assert Conversion.objects.cap() == 1

    spent.refresh_from_db()
    fresh.refresh_from_db()
    assert (spent.status, spent.provider_error_code) == ("FAILED", "MAX_ATTEMPTS")
    assert (spent.provider_error_category, spent.last_error) == ("PERMANENT", "MAX_ATTEMPTS_EXCEEDED")
    assert fresh.status == "QUEUED"


def test_retry_selected_clears_claim_and_retry_time_and_keeps_the_error(operator, site) -> None:
    """Lock 3."""
    (row,) = make_failed(site, **ERROR)

    assert act(operator, site, row, "RETRY_SELECTED") == {"ok": True, "affected": 1, "outcomeUnknown": 0, "skipped": []}

    assert (row.status, row.claimed_at, row.next_retry_at) == ("QUEUED", None, None)
    assert (row.provider_error_code, row.last_error) == ("INVALID_TIME_FORMAT", "bad time")


@pytest.mark.parametrize("clear", [True, False])
def test_reset_to_queued_clears_errors_only_when_reported(operator, site, clear) -> None:
    """Lock 3."""
    (row,) = make_failed(site, **ERROR)

    act(operator, site, row, "RESET_TO_QUEUED", clearErrors=clear)

    assert (row.status, row.claimed_at, row.next_retry_at) == ("QUEUED", None, None)
    assert row.provider_error_code == ("" if clear else "INVALID_TIME_FORMAT")
    assert row.provider_error_category == ("" if clear else "VALIDATION")
    assert row.last_error == ("" if clear else "bad time")


def test_mark_failed_with_an_empty_body_has_the_agreed_defaults(operator, site, make_conversion) -> None:
    """Lock 4."""
    row = make_conversion(site)

    act(operator, site, row, "MARK_FAILED")

    assert (row.status, row.provider_error_code) == ("FAILED", "MANUAL_FAIL")
    assert (row.provider_error_category, row.last_error) == ("PERMANENT", "MANUALLY_MARKED_FAILED")


def test_mark_failed_takes_what_the_operator_says(operator, site, make_conversion) -> None:
    row = make_conversion(site)

    act(operator, site, row, "MARK_FAILED", reason="test order", errorCode="TEST", errorCategory="VALIDATION")

    assert (row.provider_error_code, row.provider_error_category, row.last_error) == (
        "TEST",
        "VALIDATION",
        "test order",
    )
    assert Event.objects.of(row).last().message == "test order"
    assert Event.objects.of(row).last().actor == "operator:ayse"


def test_a_preview_writes_nothing_and_export_shapes_do_not_mix(api, site, make_conversion, sql) -> None:
    """Lock 5: a flat array for the script, an object for the preview, empty or not."""

    def everything() -> list:
        tables = ("offline_conversion_queue", "lock_event", "lock_countdelta", "ociqueue_site", "sites_tenant")
        return [sql(f"SELECT xmin::text, t::text FROM {table} t ORDER BY 2") for table in tables]

    empty = api.get("oci/google-ads-export", siteId=site.public_id).json()
    make_conversion(site)
    before = everything()

    full = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported="false").json()

    assert everything() == before
    assert empty == {"siteId": str(site.pk), "items": [], "counts": {"queued": 0, "skipped": 0}, "warnings": []}
    assert set(full) == set(empty)
    assert full["counts"] == {"queued": 1, "skipped": 0}
    claimed = api.claim(site)
    assert isinstance(claimed, list)
    assert [{**item, "claim": 1} for item in full["items"]] == claimed


@pytest.mark.parametrize("word", ["TRUE", "True", "1", "yes", " true", "", "false"])
def test_only_the_literal_true_claims(api, site, make_conversion, word: str) -> None:
    row = make_conversion(site)

    answer = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported=word)

    row.refresh_from_db()
    assert row.status == "QUEUED"
    assert "items" in answer.json()


def test_ack_failed_does_not_count_an_attempt(api, site, make_conversion) -> None:
    row = make_conversion(site)
    api.claim(site)

    answer = api.post(
        "oci/ack-failed",
        {"siteId": site.public_id, "queueIds": [str(row)], "errorMessage": "bad", "errorCategory": "TRANSIENT"},
    )

    row.refresh_from_db()
    assert answer.json() == {"ok": True, "updated": 1, "ignored": []}
    assert (row.status, row.attempt_count) == ("FAILED", 1)
    assert (row.provider_error_code, row.provider_error_category, row.last_error) == (
        "VALIDATION_FAILED",
        "TRANSIENT",
        "bad",
    )
