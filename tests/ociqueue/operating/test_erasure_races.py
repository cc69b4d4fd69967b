"""Erasure beside another erasure and beside a retry, on real connections."""

import threading

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion, Erasure, IdentifierKind
from ociqueue.operating.erasure import Person, forget
from tests.support.conversions import make_failed
from tests.support.erasure import GCLID
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_at_once_erase_each_row_once_and_a_retry_wins_or_loses_whole_rows(site, in_threads) -> None:
    make_failed(site, 30, gclid=GCLID, message=f"of {GCLID}")
    start = threading.Barrier(3)

    def work(number: int) -> int:
        start.wait(timeout=PATIENCE)
        if number == 0:
            return len(Conversion.objects.retry_selected())
        return sum(result.erased for result in forget(Person(IdentifierKind.CLICK_ID, GCLID), [site]))

    retried, *erased = in_threads(work, count=3)

    assert retried + sum(erased) == 30
    assert Conversion.objects.filter(status="QUEUED", gclid=GCLID, erased_at=None).count() == retried
    assert Conversion.objects.filter(status="FAILED", gclid="", erased_at__isnull=False).count() == sum(erased)
    assert Event.objects.filter(event_type="ERASED").count() == sum(erased)
    assert sum(Erasure.objects.values_list("rows_erased", flat=True)) == sum(erased)
