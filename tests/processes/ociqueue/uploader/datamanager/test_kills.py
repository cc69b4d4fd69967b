"""kill -9 at each step from the claim to the verdict: no row is lost, and none is COMPLETED without Google's proof."""

import os
import signal
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from ociqueue.models import Conversion, Receipt
from ociqueue.uploader import settle, upload_run, verdict_run
from ociqueue.uploader import verdict_run as settle_verdict
from ociqueue.uploader.datamanager.replies import Transport
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.killed_process import die, die_after, fork

pytestmark = pytest.mark.django_db(transaction=True)

CLICKS = ("click-0", "FAIL-CLICK_NOT_FOUND-1", "click-2")
KILLED = -signal.SIGKILL
BEFORE_THE_CALL = [(upload_run, "mark_sent", die), (upload_run, "send", die)]
AFTER_THE_CALL = [
    (Transport, "post", die_after(Transport.post)),  # the answer has come
    (upload_run, "settle_reply", die),
    (settle, "_store_receipts", die_after(settle._store_receipts)),  # the receipt is written, but not committed
]
IN_THE_VERDICT_TASK = [
    (verdict_run, "rows_of", die),  # the receipt is taken
    (Transport, "get", die_after(Transport.get)),  # Google has answered
    (verdict_run, "settle_verdict", die),
    (settle_verdict, "_move", die_after(settle_verdict._move)),  # the rows are moved, but not committed
]


@pytest.fixture
def rows(dm_site, make_rows) -> list[Conversion]:
    return make_rows(dm_site, *CLICKS)


def states() -> list[str]:
    return list(Conversion.objects.order_by("created_at").values_list("status", flat=True))


def prove(data_manager) -> None:
    """Each row has ended as Google's books say; Google counts it once, however often its bytes came."""
    for row in Conversion.objects.all():
        assert (row.status == "COMPLETED") == (row.order_id in data_manager.applied)
        assert (row.status == "FAILED") == row.gclid.startswith("FAIL-")
        entry = data_manager.entries[row.order_id]
        assert len(set(entry.events)) == 1
        assert len(entry.events) <= row.attempt_count, "a claim sends once"
        assert row.provider_request_id in entry.request_ids
    assert not Receipt.objects.open().exists()


def run_tasks(let_time_pass) -> None:
    """Let the sweep, an upload and a question come, each at its time."""
    Conversion.objects.recover(min_age=-timedelta(minutes=1))
    Conversion.objects.filter(status="RETRY").update(next_retry_at=Now())
    upload_due()
    let_time_pass(timedelta(hours=2))
    ask_for_verdicts()


@pytest.mark.parametrize("point", BEFORE_THE_CALL, ids=lambda point: point[1])
def test_killed_between_claim_and_call(data_manager, rows, let_time_pass, point) -> None:
    assert fork(upload_due, *point) == KILLED
    assert states() == ["PROCESSING"] * 3
    upload_due()
    assert data_manager.uploads == [], "a held row is not sent by another process"

    run_tasks(let_time_pass)

    assert len(data_manager.uploads) == 1
    prove(data_manager)


def test_killed_in_the_call(data_manager, rows, let_time_pass, tmp_path) -> None:
    victim, post = tmp_path / "pid", Transport.post

    def post_with_a_name(*args, **options):
        victim.write_text(str(os.getpid()))
        return post(*args, **options)

    def kill_the_caller(call):
        os.kill(int(victim.read_text()), signal.SIGKILL)
        return call.accept()

    data_manager.replies.append(kill_the_caller)
    assert fork(upload_due, Transport, "post", post_with_a_name) == KILLED
    assert states() == ["PROCESSING"] * 3

    run_tasks(let_time_pass)

    first, second = data_manager.uploads
    assert first.body == second.body
    prove(data_manager)


@pytest.mark.parametrize("point", AFTER_THE_CALL, ids=lambda point: point[1])
def test_killed_before_the_receipt_is_stored(data_manager, rows, let_time_pass, point) -> None:
    assert fork(upload_due, *point) == KILLED
    assert (states(), Receipt.objects.count()) == (["PROCESSING"] * 3, 0)
    assert len(data_manager.applied) == 2, "Google has them"
    let_time_pass()
    ask_for_verdicts()
    assert states() == ["PROCESSING"] * 3, "nothing is COMPLETED without a receipt"

    Conversion.objects.recover(min_age=-timedelta(minutes=1))
    assert set(Conversion.objects.values_list("status", "outcome_unknown")) == {("RETRY", True)}
    data_manager.reports_duplicates = True
    run_tasks(let_time_pass)

    first, second = data_manager.uploads
    assert first.body == second.body
    prove(data_manager)


@pytest.mark.parametrize("point", IN_THE_VERDICT_TASK, ids=lambda point: point[1])
def test_killed_in_the_verdict_task(data_manager, rows, let_time_pass, point) -> None:
    upload_due()
    let_time_pass()

    assert fork(ask_for_verdicts, *point) == KILLED
    assert states() == ["UPLOADED"] * 3
    ask_for_verdicts()
    assert states() == ["UPLOADED"] * 3, "the next question has its time"

    run_tasks(let_time_pass)

    assert len(data_manager.uploads) == 1
    prove(data_manager)
