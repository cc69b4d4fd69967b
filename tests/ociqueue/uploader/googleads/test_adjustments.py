"""Adjustments through the Google Ads API with the real client: what is sent, and a server whose books must be ours."""

import pytest
from django.db import connections

from kilit.lock.models import Event
from kilit.workers import doorbells
from ociqueue.models import Adjustment, UploadBatch
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import accept
from tests.support.adjustments import (
    adjustment_states,
    applied_but_late,
    assert_google_ads_has_ours,
    due_again,
    restate,
    restate_80,
    retract,
    sent_adjustments,
)

pytestmark = pytest.mark.django_db(transaction=True)


def history(row) -> list[str]:
    return [event.event_type for event in Event.objects.of(row) if event.event_type.startswith("ADJUSTMENT_")]


def test_what_is_sent_of_a_restatement(google, api_site, sold) -> None:
    restate(api_site, sold, "80.5", currency="EUR")
    upload_due()

    (call,) = google.calls
    (row,), request = Adjustment.objects.all(), call.request
    (one,) = request.conversion_adjustments
    assert (request.customer_id, request.partial_failure, request.validate_only) == ("1234567890", True, False)
    assert one.order_id == sold.order_id
    assert not one.HasField("gclid_date_time_pair")
    assert one.conversion_action == "customers/1234567890/conversionActions/7"
    assert one.adjustment_date_time == row.adjusted_at.strftime("%Y-%m-%d %H:%M:%S+00:00")
    assert (one.adjustment_type, one.restatement_value.adjusted_value) == (3, 80.5)
    assert one.restatement_value.currency_code == "EUR"
    batch = UploadBatch.objects.get(queue="adjustment")
    assert batch.job_id == batch.answered_job_id == request.job_id
    assert (batch.size, batch.accepted, batch.request_id) == (1, 1, row.provider_request_id)


def test_a_retraction_has_no_value(google, api_site, sold) -> None:
    retract(api_site, sold)
    upload_due()

    (one,) = google.calls[0].request.conversion_adjustments
    assert one.adjustment_type == 2
    assert not one.HasField("restatement_value")


def test_a_dry_run_is_only_validated(google, api_site, sold) -> None:
    retract(api_site, sold)
    provider = provider_for(api_site, queue="adjustment")

    (result,) = provider.upload(list(Adjustment.objects.all()), dry_run=True, job_id=5)

    assert result.disposition == "ACCEPTED"
    assert (google.calls[0].request.validate_only, google.calls[0].request.job_id) == (True, 0)
    assert google.books.count == 1


def test_restate_again_and_retract_each_twice(google, api_site, sold) -> None:
    for value in (80, 60):
        assert [restate(api_site, sold, value)["status"] for _ in range(2)] == ["created", "duplicate"]
        upload_due()
        assert google.books.value == value
        assert_google_ads_has_ours(google)
    assert [retract(api_site, sold)["status"] for _ in range(2)] == ["created", "duplicate"]
    upload_due()

    assert adjustment_states(sold) == [("COMPLETED", "")] * 3
    assert google.books.count == 0
    assert_google_ads_has_ours(google)
    assert history(sold) == ["ADJUSTMENT_ADDED", "ADJUSTMENT_COMPLETED"] * 3
    assert [Event.objects.of(row).last().to_state for row in Adjustment.objects.all()] == ["COMPLETED"] * 3
    assert not doorbells.doorbells["oci_upload"].is_due()


def test_a_conversion_and_its_restatement_go_in_one_run(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "sold", value=120)
    restate(api_site, row, 80)

    upload_due()

    assert [call.field for call in google.calls] == ["conversions", "conversion_adjustments"]
    assert_google_ads_has_ours(google)


def test_a_retraction_before_the_claim_sends_nothing(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "sold")
    assert [retract(api_site, row)["status"] for _ in range(2)] == ["created", "duplicate"]

    upload_due()

    assert google.calls == []
    assert adjustment_states(row) == [("COMPLETED", "")]
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize(
    ("reply", "ends"),
    [
        (accept, ("COMPLETED", "COMPLETED", 2)),
        # Google may have it, so it is sent again first; then it is retracted.
        (applied_but_late, ("COMPLETED", "COMPLETED", 3)),
        # Google cannot have it: both end here.
        (lambda call: call.refuse("RESOURCE_EXHAUSTED"), ("FAILED", "COMPLETED", 1)),
        (lambda call: call.accept([{"family": "conversion_upload_error", "name": "EXPIRED_EVENT", "index": 0}]),
         ("FAILED", "FAILED", 1)),
    ],
)  # fmt: skip
def test_a_retraction_while_the_conversion_is_in_flight(google, api_site, make_rows, reply, ends) -> None:
    (row,) = make_rows(api_site, "sold")

    def retract_first(call):
        assert [retract(api_site, row)["status"] for _ in range(2)] == ["created", "duplicate"]
        return reply(call)

    google.replies.append(in_another_connection(retract_first))
    for _ in range(2):
        upload_due()
        due_again()
    upload_due()

    row.refresh_from_db()
    assert (row.status, Adjustment.objects.get().status, len(google.calls)) == ends
    assert google.books.count == 0
    assert_google_ads_has_ours(google)


def in_another_connection(reply):
    """Close the connection that the server's thread opened for a reply."""

    def run(call):
        try:
            return reply(call)
        finally:
            connections.close_all()

    return run


def test_a_retraction_after_the_conversion_failed(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "FAIL-EXPIRED_EVENT-1")
    upload_due()

    assert retract(api_site, row)["state"] == "FAILED"
    upload_due()

    assert adjustment_states(row) == [("FAILED", "ORIGINAL_NOT_UPLOADED")]
    assert len(google.calls) == 1
    assert_google_ads_has_ours(google)


@pytest.mark.parametrize("adjusting", [retract, restate_80])
def test_two_clients_at_the_same_time_adjust_once(google, api_site, sold, in_threads, adjusting) -> None:
    results = in_threads(lambda _: adjusting(api_site, sold)["status"], count=2)
    in_threads(lambda _: upload_due(), count=2)

    assert sorted(results) == ["created", "duplicate"]
    assert adjustment_states(sold) == [("COMPLETED", "")]
    assert len(sent_adjustments(google)) == 1
    assert_google_ads_has_ours(google)


def test_one_client_restates_while_another_retracts(google, api_site, sold, in_threads) -> None:
    def work(number: int):
        result = retract(api_site, sold) if number else restate(api_site, sold, 80)
        upload_due()
        return result

    restated, retracted = in_threads(work, count=2)
    upload_due()

    assert retracted["status"] == "created"
    assert restated["status"] in ("created", "invalid")
    assert google.books.count == 0
    assert_google_ads_has_ours(google)
