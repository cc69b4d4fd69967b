"""Several operators and workers on the same rows."""

import pytest

from kilit.batches.models import BulkAction
from kilit.batches.run import ENGINE, run_batch
from tests.support.bulk_actions import PAGES, asked, states
from tests.support.bulk_results import agrees, moves
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


def test_a_second_retry_of_the_same_rows_says_what_they_were(make_person, site, make_failed) -> None:
    make_failed(site, 5)
    first, second = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    actions = [asked(first), asked(second)]

    ENGINE.work_due()

    for action in actions:
        action.refresh_from_db()
    assert [action.moved_count for action in actions] == [5, 0]
    assert actions[1].skipped == [["QUEUED", "", 5]]
    page = second.get(f"{PAGES}{actions[1].pk}/change/").content.decode()
    assert "Retried 0 of 5; not changed: 5 (Waiting)." in page
    agrees(second, actions[1])


def test_a_worker_that_lost_its_claim_changes_nothing_more(operator, site, make_failed, small_batches) -> None:
    make_failed(site, 6)
    asked(operator)
    slow = BulkAction.objects.claim()
    run_batch(slow)
    BulkAction.objects.update(lease_until="2020-01-01T00:00Z")

    quick = BulkAction.objects.claim()
    ENGINE.work(slow)
    ENGINE.work(quick)

    quick.refresh_from_db()
    assert (quick.status, quick.moved_count) == ("DONE", 6)
    agrees(operator, quick)


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
@pytest.mark.django_db(transaction=True)
def test_two_workers_never_do_the_same_batch(operator, site, make_failed, small_batches, in_threads) -> None:
    """Each believes the other dead: the lease is over before every batch."""
    make_failed(site, 60)
    action = asked(operator)
    claimed = [BulkAction.objects.claim()]
    BulkAction.objects.update(lease_until="2020-01-01T00:00Z")
    claimed.append(BulkAction.objects.claim())

    def rival(number: int) -> None:
        ENGINE.work(claimed[number])
        for _ in range(20):
            BulkAction.objects.filter(pk=action.pk, status="RUNNING").update(lease_until="2020-01-01T00:00Z")
            ENGINE.work_due()

    in_threads(rival, count=2)
    ENGINE.work_due()

    action.refresh_from_db()
    assert (action.status, action.moved_count) == ("DONE", 60)
    agrees(operator, action)


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
@pytest.mark.django_db(transaction=True)
def test_two_operators_over_the_same_rows_at_once(make_person, make_site, make_failed, in_threads) -> None:
    """Every row is moved by one of them, and reported as skipped by the other."""
    sites = [make_site() for _ in range(3)]
    for site in sites:
        make_failed(site, 200)
    people = [make_person(name, sites=dict.fromkeys(sites, "operator")) for name in ("ayse", "can")]
    actions = [asked(person, count="600") for person in people]

    in_threads(lambda _: ENGINE.work_due(), count=2)

    for action, person in zip(actions, people, strict=True):
        action.refresh_from_db()
        assert action.status == "DONE"
        agrees(person, action)
    assert sum(action.moved_count for action in actions) == 600
    assert sum(count for action in actions for state, _, count in action.skipped if state == "QUEUED") == 600
    assert sum(sum(moves(action).values()) for action in actions) == 600


@pytest.mark.django_db(transaction=True)
def test_a_cancel_amid_a_batch_waits_for_its_end(operator, site, make_failed, small_batches, in_threads) -> None:
    make_failed(site, 40)
    action = asked(operator)

    def both(number: int) -> None:
        if number:
            wait_until(lambda: BulkAction.objects.filter(done_count__gt=0).exists())
            BulkAction.objects.filter(pk=action.pk).cancel()
        else:
            ENGINE.work_due()

    in_threads(both, count=2)

    action.refresh_from_db()
    assert action.status in ("CANCELLED", "DONE")
    assert states().get("QUEUED", 0) == action.moved_count
    agrees(operator, action)
