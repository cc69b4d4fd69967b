"""Answers to many rows at once: most are the same for all rows, and none of them may reach a row taken back."""

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt, Site, UploadBatch
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader import upload_run
from ociqueue.uploader.results import RowResult
from tests.support.turns import one_after_the_other
from tests.support.uploads import sent

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = RowResult(Disposition.ACCEPTED, request_id="request-1", job_id=7)


def take_back(row: Conversion) -> None:
    Conversion.objects.filter(pk=row.pk).reset_to_queued()


def test_one_answer_for_all_rows_leaves_out_the_row_that_was_taken_back(api_site) -> None:
    batch, rows = sent(api_site, count=3)
    take_back(rows[1])

    tally = upload_run.settle(batch.pk, rows, [ACCEPTED] * 3)

    assert (tally.accepted, tally.late) == (2, 1)
    found = dict(Conversion.objects.values_list("pk", "status"))
    assert [found[row.pk] for row in rows] == ["COMPLETED", "QUEUED", "COMPLETED"]
    assert Event.objects.get(event_type="LATE_ANSWER").object_id == rows[1].pk
    assert UploadBatch.objects.get().by_action == {rows[0].action: {"accepted": 3}}, "what Google answered"


def test_each_row_gets_its_own_of_many_answers(api_site) -> None:
    """Requests that were halved: rows have different request ids, and some fail, wait, or were taken back."""
    batch, rows = sent(api_site, count=6)
    take_back(rows[4])
    other = RowResult(Disposition.ACCEPTED, request_id="request-2", job_id=7)
    fatal = RowResult(Disposition.FATAL, "EXPIRED_EVENT", Category.VALIDATION, request_id="request-2", job_id=7)
    later = RowResult(Disposition.RETRY, "INTERNAL", Category.TRANSIENT, request_id="request-3", ambiguous=True)

    tally = upload_run.settle(batch.pk, rows, [ACCEPTED, other, fatal, later, other, ACCEPTED])

    assert (tally.accepted, tally.failed, tally.put_off, tally.late) == (3, 1, 1, 1)
    columns = ("status", "provider_request_id", "provider_error_code", "outcome_unknown")
    found = {pk: values for pk, *values in Conversion.objects.values_list("pk", *columns)}
    assert [found[row.pk] for row in rows] == [
        ["COMPLETED", "request-1", "", False],
        ["COMPLETED", "request-2", "", False],
        ["FAILED", "request-2", "EXPIRED_EVENT", False],
        ["RETRY", "request-3", "INTERNAL", True],
        ["QUEUED", "", "", True],
        ["COMPLETED", "request-1", "", False],
    ]
    counted = UploadBatch.objects.get().by_action[rows[0].action]
    assert counted == {"accepted": 4, "failed": 1, "unknown": 1}


def test_a_receipt_has_its_rows_in_the_order_that_was_sent(api_site) -> None:
    """The verdict names places: rows with a warning have a result of their own, and keep theirs."""
    batch, rows = sent(api_site, count=4)
    received = RowResult(Disposition.RECEIVED, request_id="request-1")
    warned = RowResult(Disposition.RECEIVED, request_id="request-1", warnings=("IGNORED",))

    upload_run.settle(batch.pk, rows, [received, warned, received, warned])

    assert Receipt.objects.get().row_ids == [row.pk for row in rows]


def test_a_row_that_is_taken_back_while_the_upload_waits_for_its_lock_is_not_sent(api_site, make_rows) -> None:
    lost, *kept = make_rows(api_site, count=3)
    batch, rows = upload_run.claim(api_site, upload_run.SiteTurn(Conversion.objects.for_site(api_site)))

    _, went = one_after_the_other(lambda: take_back(lost), lambda: upload_run.mark_sent(batch, rows))

    assert {row.pk for row in went} == set(UploadBatch.objects.get().row_ids) == {row.pk for row in kept}


@pytest.mark.parametrize("change", [{"is_paused": True, "pause_reason": "why"}, {"sync_method": SyncMethod.SCRIPT}])
@pytest.mark.parametrize("is_usual", [True, False])
def test_a_claim_asks_for_the_site_as_it_is_now(*, google, api_site, make_rows, change, is_usual: bool) -> None:
    """The turn was decided before the site was changed."""
    make_rows(api_site, count=2)
    turn = upload_run.SiteTurn(Conversion.objects.for_site(api_site), is_usual=is_usual)
    Site.objects.filter(pk=api_site.pk).update(**change)

    _, rows = upload_run.claim(api_site, turn)

    assert rows == []
    assert not UploadBatch.objects.exists()
