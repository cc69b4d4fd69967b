"""Rows that Google took and an operator takes back: the verdict moves nothing, and the timeline shows both."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt
from ociqueue.operating.sweeps import attempt_cap, recover_processing, requeue_transient
from ociqueue.uploader.upload_run import due_sites, upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.guarded_columns import write_unguarded
from tests.support.later_provider import make_due
from tests.support.uploads import row_page, states

pytestmark = pytest.mark.django_db


def late(row: Conversion) -> list[dict[str, str]]:
    found = Event.objects.of(row).filter(event_type="LATE_ANSWER").order_by("pk")
    return [event.details for event in found]


def completions(row: Conversion) -> int:
    return Event.objects.of(row).filter(to_state="COMPLETED").exclude(from_state="COMPLETED").count()


@pytest.mark.parametrize(("verb", "state"), [("reset_to_queued", "QUEUED"), ("mark_failed", "FAILED")])
def test_a_row_that_is_taken_back_has_an_unknown_outcome(uploaded, verb: str, state: str) -> None:
    (row,) = uploaded("one")

    getattr(Conversion.objects.filter(pk=row.pk), verb)()

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown, row.open_batch) == (state, True, None)


def test_a_verdict_after_mark_failed_moves_nothing_and_says_that_google_has_it(uploaded, admin_client) -> None:
    row, other = uploaded("one", "two")
    Conversion.objects.filter(pk=row.pk).mark_failed()

    ask_for_verdicts()

    row.refresh_from_db()
    other.refresh_from_db()
    assert (row.status, row.outcome_unknown, other.status) == ("FAILED", True, "COMPLETED")
    (noted,) = late(row)
    assert (noted["answer"], noted["request_id"]) == ("ACCEPTED", other.provider_request_id)
    receipt = Receipt.objects.get()
    assert (receipt.confirmed, receipt.late) == (1, 1)
    page = admin_client.get(row_page(row)).text
    assert "It has the conversion." in page
    assert "Marked failed by" in page


def test_a_reset_row_is_sent_again_and_completed_once(uploaded, later, dm_site) -> None:
    """Reset, sent again, both verdicts come: only that of the second upload moves the row."""
    (row,) = uploaded("one")
    Conversion.objects.filter(pk=row.pk).reset_to_queued()
    upload_due()
    assert states(dm_site) == ["UPLOADED"]
    first, second = Receipt.objects.order_by("received_at")

    make_due()
    Receipt.objects.filter(pk=second.pk).update(next_check_at=Now() + timedelta(hours=1))
    ask_for_verdicts()
    row.refresh_from_db()
    assert (row.status, row.open_batch_id) == ("UPLOADED", second.batch_id)
    assert [noted["batch"] for noted in late(row)] == [str(first.batch_id)]

    later.reasons = {"one": ["DUPLICATE_TRANSACTION_ID"]}
    make_due()
    ask_for_verdicts()

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown, completions(row)) == ("COMPLETED", False, 1)


@pytest.mark.parametrize("reason", ["INVALID_GCLID", "TOO_RECENT_CLICK", "INTERNAL_ERROR"])
def test_a_late_rejection_is_recorded_with_its_reason(uploaded, later, reason: str) -> None:
    (row,) = uploaded("one")
    later.reasons = {"one": [reason]}
    Conversion.objects.filter(pk=row.pk).reset_to_queued()

    ask_for_verdicts()

    row.refresh_from_db()
    (noted,) = late(row)
    assert (row.status, row.provider_error_code, noted["code"]) == ("QUEUED", "", reason)


def test_a_late_row_keeps_its_place_among_the_others(uploaded, later) -> None:
    """The places of a verdict are those of the request, whatever became of its rows."""
    first, second, third = uploaded("one", "two", "three")
    Conversion.objects.filter(pk=first.pk).mark_failed()
    later.reasons = {"three": ["INVALID_GCLID"]}

    ask_for_verdicts()

    for row in (second, third):
        row.refresh_from_db()
    assert (second.status, third.status) == ("COMPLETED", "FAILED")


def test_rows_taken_back_are_not_singled_out(uploaded, later) -> None:
    first, second = uploaded("one", "two")
    Conversion.objects.filter(pk=first.pk).mark_failed()
    later.change = lambda status: status.pop("eventsIngestionStatus")

    ask_for_verdicts()

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, first.send_alone) == ("FAILED", False)
    assert (second.status, second.send_alone) == ("RETRY", True)
    assert [noted["code"] for noted in late(first)] == ["VERDICT_UNPROVEN"]


def test_sweeps_leave_uploaded_rows_alone(uploaded, dm_site) -> None:
    """However old, however often tried, and whatever the site asks for: only a verdict or an operator moves them."""
    uploaded("one")
    old = Now() - timedelta(days=3)
    write_unguarded(Conversion.objects.all(), claimed_at=old, updated_at=old, attempt_count=50, next_retry_at=None)
    dm_site.requeue_transient = True
    dm_site.save(update_fields=["requeue_transient"])

    assert recover_processing() == "Recovered 0."
    assert attempt_cap() == "Capped 0."
    assert attempt_cap(max_attempts=1) == "Capped 0."
    assert requeue_transient() == "Requeued 0."

    assert states(dm_site) == ["UPLOADED"]
    assert not due_sites().exists()
    assert not Conversion.objects.all().stuck().exists()
    assert not Conversion.objects.filter(attempt_count__lt=F("attempts_forgiven")).exists()
