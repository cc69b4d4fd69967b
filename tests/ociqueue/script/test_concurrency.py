"""Exporters, sweeps and acknowledgements at once, on real connections."""

import random

import pytest
from django.utils import timezone

from kilit.lock.models import Count, Event
from ociqueue.models import Conversion
from ociqueue.script.acknowledge import ack
from tests.support.api import Api
from tests.support.conversions import new_conversion
from tests.support.turns import one_within_the_other
from tests.tools.benchmarks.conversions import fill

pytestmark = pytest.mark.django_db(transaction=True)

EXPORTERS = 16
ROWS = 8_000


@pytest.mark.slow  # enough rows and threads that they meet
def test_sixteen_exporters_hand_out_every_row_exactly_once_per_claim(site, site_key, in_threads) -> None:
    """Half of the exporters lose their first answer and pull again, as a script does after a timeout."""
    key = site_key(site)
    fill(Conversion._meta.db_table, site, ROWS)

    def pull(number: int) -> list[tuple[str, int]]:
        api = Api(key)
        mine: list[str] = []
        lost = api.claim(site, limit=100) if number % 2 else []
        while items := api.claim(site, limit=200):
            mine += [item["id"] for item in items]
        return [*mine, *(item["id"] for item in lost)]

    hauls = in_threads(pull, count=EXPORTERS)

    handed_out = [pk for haul in hauls for pk in haul]
    assert len(handed_out) == len(set(handed_out)) == ROWS
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {("PROCESSING", 1)}
    assert Event.objects.filter(details__verb="claim").count() == ROWS

    Conversion.objects.update(claimed_at=timezone.now() - timezone.timedelta(hours=1))
    assert Conversion.objects.recover() == ROWS
    again = [pk for haul in in_threads(pull, count=EXPORTERS) for pk in haul]
    assert sorted(again) == sorted(handed_out)
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {("PROCESSING", 2)}


@pytest.mark.nightly  # a storm; by day, each two in chosen orders: tests/system/interleavings
def test_acks_sweeps_operators_and_claims_at_once_neither_deadlock_nor_lose_count(site, in_threads) -> None:
    Conversion.objects.bulk_create(new_conversion(site) for _ in range(1500))

    def work(number: int) -> None:
        luck = random.Random(number)
        for _ in range(15):
            rows = Conversion.objects.for_site(site)
            claimed = rows.claim(limit=60)
            ids = [row.pk for row in claimed] + list(rows.values_list("pk", flat=True)[: luck.randrange(200)])
            luck.shuffle(ids)
            match number % 4:
                case 0:
                    ack(site, ids[::2], skipped=ids[1::5])
                case 1:
                    rows.filter(pk__in=ids).reset_to_queued()
                case 2:
                    rows.filter(pk__in=ids).mark_failed()
                case _:
                    rows.recover(min_age=timezone.timedelta(0))
                    rows.cap()
                    rows.filter(pk__in=ids).retry_selected()

    in_threads(work, count=8)

    counted: dict[str, int] = {}
    for status in Conversion.objects.values_list("status", flat=True):
        counted[status] = counted.get(status, 0) + 1
    assert Count.objects.by_state(queue="conversion", scopes=[str(site.pk)]) == counted
    assert sum(counted.values()) == 1500
    claims = Event.objects.filter(details__verb="claim").count()
    assert sum(Conversion.objects.values_list("attempt_count", flat=True)) == claims


def test_a_sweep_takes_no_lock_that_a_claim_waits_for(site) -> None:
    Conversion.objects.bulk_create(new_conversion(site, attempt_count=5 * (n % 2)) for n in range(20))

    capped, claimed = one_within_the_other(
        Conversion.objects.cap, lambda: Conversion.objects.for_site(site).claim(limit=100)
    )

    assert (capped, len(claimed)) == (10, 10)
