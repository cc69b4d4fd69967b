"""A verdict is settled once, and one that proves nothing about single rows has them sent alone."""

import pytest
from django.db import connection

from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt
from ociqueue.uploader.results import Verdict, VerdictStatus
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts, rows_of, settle_verdict
from tests.support.later_provider import make_due, without_places
from tests.support.uploads import states

pytestmark = pytest.mark.django_db


def events(row: Conversion) -> list[str]:
    return list(Event.objects.of(row).order_by("pk").values_list("event_type", flat=True))


# Singling out


def test_rows_of_a_verdict_without_places_are_sent_alone_and_end_in_the_second_round(uploaded, later, dm_site) -> None:
    uploaded("good", "old", "better", "other")
    later.reasons = {"old": ["EVENT_TOO_OLD"], "other": ["CLICK_NOT_FOUND"]}
    later.change = without_places

    ask_for_verdicts()

    rows = Conversion.objects.all()
    assert states(dm_site) == ["RETRY"] * 4
    assert {(row.send_alone, row.outcome_unknown, row.attempts_forgiven) for row in rows} == {(True, True, 1)}
    assert Receipt.objects.get().verdict == "UNPROVEN"

    upload_due()
    assert sorted(map(len, later.requests.values())) == [1, 1, 1, 1, 4]
    make_due()
    ask_for_verdicts()

    assert states(dm_site) == ["COMPLETED", "FAILED", "COMPLETED", "FAILED"]
    assert Conversion.objects.get(gclid="old").provider_error_code == "EVENT_TOO_OLD"
    assert not Conversion.objects.filter(send_alone=True).exists()


def test_a_row_alone_whose_verdict_proves_nothing_uses_up_its_attempts(uploaded, later, dm_site) -> None:
    (row,) = uploaded("one")
    later.change = lambda status: status.update(eventsIngestionStatus={"recordCount": 7})

    for _ in range(8):
        make_due()
        ask_for_verdicts()
        Conversion.objects.filter(status="RETRY").update(next_retry_at=None)
        upload_due()

    row.refresh_from_db()
    assert (row.status, row.provider_error_code, row.attempt_count) == ("FAILED", "MAX_ATTEMPTS", 8)
    assert (row.outcome_unknown, row.attempts_forgiven) == (True, 0)


def test_a_row_whose_verdict_proves_nothing_is_not_sent_with_others_again(uploaded, later) -> None:
    """Among others it would make their verdict worthless, too."""
    (row,) = uploaded("one")
    later.change = lambda status: status.pop("eventsIngestionStatus")

    ask_for_verdicts()

    row.refresh_from_db()
    assert (row.status, row.send_alone) == ("RETRY", True)


# Settled once


def test_a_verdict_is_settled_once(uploaded) -> None:
    (row,) = uploaded("one")
    receipt = Receipt.objects.select_related("batch").get()
    ask_for_verdicts()
    before = events(row)

    tally = settle_verdict(receipt, rows_of(receipt), Verdict(VerdictStatus.LOST))

    row.refresh_from_db()
    assert (row.status, tally.put_off, tally.late, events(row)) == ("COMPLETED", 0, 0, before)
    assert Receipt.objects.get().verdict == "SUCCESS"


def test_a_crash_after_taking_a_receipt_only_delays_the_question(uploaded, dm_site) -> None:
    uploaded("one")

    assert Receipt.objects.take_due() is not None
    assert Receipt.objects.take_due() is None, "another worker does not ask at the same time"
    ask_for_verdicts()
    assert states(dm_site) == ["UPLOADED"]

    make_due()
    ask_for_verdicts()
    assert states(dm_site) == ["COMPLETED"]


def test_the_order_that_was_sent_is_kept(uploaded, later, dm_site) -> None:
    """The verdict names places, so a row that was pruned or moved on meanwhile keeps its own."""
    uploaded("one", "two", "three")
    receipt = Receipt.objects.get()
    reverse = receipt.row_ids[::-1]
    Receipt.objects.update(row_ids=reverse)

    receipt.refresh_from_db()
    assert [row.pk for row in rows_of(receipt)] == reverse
    (gone,) = rows_of(replace_first(receipt))[:1]
    assert gone.gclid == ""


def replace_first(receipt: Receipt) -> Receipt:
    receipt.row_ids = [receipt.batch_id, *receipt.row_ids[1:]]
    return receipt


def test_warnings_of_a_verdict_are_in_the_timeline(uploaded, later) -> None:
    (row,) = uploaded("one")
    warning = {"reason": "PROCESSING_WARNING_REASON_INTERNAL_ERROR", "recordCount": 1}
    later.change = lambda status: status.update(warningInfo={"warningCounts": [warning]})

    ask_for_verdicts()

    row.refresh_from_db()
    noted = Event.objects.of(row).get(event_type="PROVIDER_WARNING")
    assert (row.status, noted.details["warnings"]) == ("COMPLETED", ["INTERNAL_ERROR"])


def test_the_due_receipts_are_found_by_an_index(uploaded) -> None:
    uploaded("one")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    due = Receipt.objects.due().order_by("next_check_at")[:1].explain()
    overdue = Receipt.objects.overdue().order_by("received_at")[:1].explain()

    assert "receipt_due" in due
    assert "receipt_open" in overdue
