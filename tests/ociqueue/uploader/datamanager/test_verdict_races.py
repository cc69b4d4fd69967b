"""Verdicts and several workers at once, on real connections."""

import threading

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.later_provider import make_due
from tests.support.uploads import states
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 4


def test_every_receipt_is_asked_for_by_one_worker(later, dm_site, make_rows, in_threads) -> None:
    for number in range(12):
        make_rows(dm_site, f"click-{number}", action=f"Action {number}")
    upload_due()
    make_due()

    in_threads(lambda _: ask_for_verdicts(), count=WORKERS)

    assert sorted(later.asked) == sorted(later.requests)
    assert states(dm_site) == ["COMPLETED"] * 12


def test_a_verdict_and_an_operator_at_once_end_in_one_state(uploaded, dm_site, in_threads) -> None:
    rows = uploaded(*(f"click-{number}" for number in range(40)))
    start = threading.Barrier(2)

    def act(number: int) -> None:
        start.wait(timeout=PATIENCE)
        if number:
            ask_for_verdicts()
        else:
            for row in rows[::-1]:
                Conversion.objects.filter(pk=row.pk).mark_failed()

    in_threads(act, count=2)

    receipt = Receipt.objects.get()
    failed = Conversion.objects.filter(status="FAILED", outcome_unknown=True).count()
    completed = Conversion.objects.filter(status="COMPLETED", outcome_unknown=False).count()
    assert (failed + completed, receipt.confirmed, receipt.late) == (40, completed, failed)
    assert Event.objects.filter(event_type="LATE_ANSWER").count() == failed
