"""Running a bulk action: exact through kills, cancels, lost roles and rivals (CON-5)."""

import csv
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from django.test import Client

from lifecycle.bulk import planning, running
from lifecycle.bulk.queues import NotNow
from lifecycle.bulk.running import run_batch, work, work_due
from lifecycle.models import BulkAction, BulkItem, Event
from ociqueue.admin.actions import RETRY, ConversionAction
from ociqueue.models import Conversion, SiteMembership
from tests.bulk.conftest import PAGES, ask, asked, said, states, worked
from tests.workers.conftest import Workers, wait_until, workers

__all__ = ["workers"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def small_batches() -> Iterator[None]:
    """Let a few rows take several batches; actions are frozen, so past their guard."""
    usual = RETRY.batch
    object.__setattr__(RETRY, "batch", 2)
    yield
    object.__setattr__(RETRY, "batch", usual)


def results(client: Client, action: BulkAction) -> dict[UUID, dict[str, str]]:
    answer = client.get(f"{PAGES}{action.pk}/results/")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    return {UUID(row["id"]): row for row in csv.DictReader(StringIO(text, newline=""))}


def moves(action: BulkAction) -> Counter[UUID]:
    """Return how often each row was moved in this action's name, by the witness."""
    events = Event.objects.filter(queue="conversion", message=f"mended ({action})", to_state="QUEUED")
    return Counter(events.values_list("object_id", flat=True))


def agrees(client: Client, action: BulkAction) -> None:
    """Check that witness, lines, file and sums tell one story."""
    told, moved = results(client, action), moves(action)
    assert set(moved.values()) <= {1}, "each row is moved once"
    assert {pk for pk, row in told.items() if row["outcome"] == "moved"} == set(moved)
    assert len(told) == action.total
    outcomes = Counter(row["outcome"] for row in told.values())
    assert outcomes["moved"] == action.moved_count
    assert outcomes["left"] == sum(action.left.values())
    assert outcomes["moved"] + outcomes["left"] == action.done_count


def test_every_row_tells_who_and_why(make_person, site, make_failed) -> None:
    rows = make_failed(site, 3)
    operator = make_person(sites={site: "operator"})

    action = worked(asked(operator))

    event = Event.objects.of(rows[0]).last()
    assert (event.actor, event.message) == ("operator:ayse", f"mended ({action})")
    assert [e.actor for e in Event.objects.of(action)] == [
        "operator:ayse",
        "operator:ayse",
        "operator:ayse",
        "worker:bulk_actions",
    ]
    agrees(operator, action)


def test_rows_that_come_later_are_not_touched(make_person, site, make_failed) -> None:
    make_failed(site, 2)
    action = asked(make_person(sites={site: "operator"}))
    make_failed(site, 3)

    worked(action)

    assert states() == {"QUEUED": 2, "FAILED": 3}


def test_rows_that_come_before_a_worker_counts_are_not_touched(make_person, site, make_failed, monkeypatch) -> None:
    """Filters count from the moment of asking, also when a worker comes to it much later."""
    make_failed(site, 2)
    monkeypatch.setattr(planning, "MOST_LOOKED_AT", 1)
    action = asked(make_person(sites={site: "operator"}), query="since=1&status=FAILED")
    # What was made an hour before the worker came, and after it was asked for.
    make_failed(site, 3)
    BulkAction.objects.update(as_of=Now() - timedelta(minutes=30))
    Conversion.objects.filter(pk__in=Conversion.objects.order_by("pk").values("pk")[:2]).update(
        created_at=Now() - timedelta(minutes=80)
    )

    worked(action)

    assert (action.status, action.total) == ("READY", 2)


def test_what_somebody_else_moved_meanwhile_is_told(make_person, site, make_failed) -> None:
    rows = make_failed(site, 5)
    first, second = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    mine = asked(first)
    ask(second, "reset", f"q={rows[0].pk}")
    work_due()
    mine.refresh_from_db()

    late = BulkAction.objects.latest("created_at")
    page = second.get(f"{PAGES}{late.pk}/change/").content.decode()

    assert (mine.moved_count, mine.left) == (5, {})
    assert late.moved_count == 1, "reset applies to QUEUED too"
    assert "Reset 1 of 1." in page


def test_a_second_retry_of_the_same_rows_says_what_they_were(make_person, site, make_failed) -> None:
    make_failed(site, 5)
    first, second = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    actions = [asked(first), asked(second)]

    work_due()

    for action in actions:
        action.refresh_from_db()
    assert [action.moved_count for action in actions] == [5, 0]
    assert actions[1].left == {"QUEUED": 5}
    page = second.get(f"{PAGES}{actions[1].pk}/change/").content.decode()
    assert "Retried 0 of 5; 5 were QUEUED." in page
    agrees(second, actions[1])


def test_cancel_stops_before_the_next_batch(make_person, site, make_failed, small_batches) -> None:
    make_failed(site, 10)
    operator, colleague = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    asked(operator)
    action = BulkAction.objects.claim()
    assert run_batch(action)

    answer = colleague.post(f"{PAGES}{action.pk}/cancel/", follow=True)
    more = run_batch(action)
    work_due()

    action.refresh_from_db()
    assert said(answer) == ["Cancelled. 2 of 10 were changed before, and stay so."]
    assert not more
    assert (action.status, action.done_count, action.moved_count) == ("CANCELLED", 2, 2)
    assert states() == {"QUEUED": 2, "FAILED": 8}
    assert Event.objects.of(action).last().actor == "operator:can"
    agrees(operator, action)


@pytest.mark.parametrize("loss", ["role", "membership", "account", "console"])
def test_whoever_may_no_longer_act_does_not(make_person, site, make_failed, small_batches, loss: str) -> None:
    make_failed(site, 6)
    operator = make_person(sites={site: "operator"})
    asked(operator)
    action = BulkAction.objects.claim()
    assert run_batch(action)

    match loss:
        case "role":
            User.objects.get(username="ayse").groups.set(Group.objects.filter(name="viewer"))
        case "membership":
            SiteMembership.objects.update(role="viewer")
        case "account":
            User.objects.filter(username="ayse").update(is_active=False)
        case "console":
            User.objects.filter(username="ayse").update(is_staff=False)
    run_batch(action)

    action.refresh_from_db()
    assert (action.status, action.error) == ("FAILED", "ayse may no longer act on these rows.")
    assert states() == {"QUEUED": 2, "FAILED": 4}


def test_rows_of_a_site_that_was_taken_away_are_left_alone(make_person, make_site, make_failed) -> None:
    mine, lost = make_site(), make_site()
    make_failed(mine, 2)
    make_failed(lost, 3)
    operator = make_person(sites={mine: "operator", lost: "operator"})
    action = asked(operator)

    SiteMembership.objects.filter(site=lost).delete()
    worked(action)

    assert (action.status, action.moved_count, action.left) == ("DONE", 2, {"not of a site you run": 3})
    assert states() == {"QUEUED": 2, "FAILED": 3}
    agrees(operator, action)


def test_a_site_won_since_is_not_in_it(make_person, make_site, make_failed) -> None:
    mine, won = make_site(), make_site()
    make_failed(mine, 1)
    make_failed(won, 1)
    action = asked(make_person(sites={mine: "operator", won: "viewer"}))

    SiteMembership.objects.update(role="admin")

    assert worked(action).moved_count == 1


def test_a_batch_that_breaks_off_leaves_nothing_and_is_tried_again(
    make_person, site, make_failed, small_batches, monkeypatch
) -> None:
    make_failed(site, 4)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)
    settle, calls = running.settle, []

    def settle_once(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("the power went")
        settle(*args)

    monkeypatch.setattr(running, "settle", settle_once)
    work_due()
    action.refresh_from_db()
    first = (action.status, action.done_count, action.error)
    BulkAction.objects.update(lease_until=None, claim_token=None)
    worked(action)

    assert first == ("RUNNING", 2, "RuntimeError; the log says more.")
    assert (action.status, action.moved_count, action.error) == ("DONE", 4, "")
    agrees(operator, action)


def test_what_never_works_fails_with_its_words(make_person, site, make_failed, monkeypatch) -> None:
    make_failed(site, 2)
    action = asked(make_person(sites={site: "operator"}))

    def never(*_: Any) -> None:
        raise NotNow("The store does not answer.")

    monkeypatch.setattr(ConversionAction, "apply", never)
    for _ in range(7):
        BulkAction.objects.filter(status="RUNNING").update(lease_until=None, claim_token=None)
        work_due()

    action.refresh_from_db()
    assert (action.status, action.error) == ("FAILED", "The store does not answer.")
    assert states() == {"FAILED": 2}


def test_a_worker_that_lost_its_claim_changes_nothing_more(make_person, site, make_failed, small_batches) -> None:
    make_failed(site, 6)
    operator = make_person(sites={site: "operator"})
    asked(operator)
    slow = BulkAction.objects.claim()
    run_batch(slow)
    BulkAction.objects.update(lease_until="2020-01-01T00:00Z")

    quick = BulkAction.objects.claim()
    work(slow)
    work(quick)

    quick.refresh_from_db()
    assert (quick.status, quick.moved_count) == ("DONE", 6)
    agrees(operator, quick)


def test_plans_that_nobody_confirms_are_cancelled_and_old_lines_forgotten(make_person, site, make_failed, sql) -> None:
    make_failed(site, 1)
    done = worked(asked(make_person(sites={site: "operator"})))
    stale = BulkAction.objects.create(
        queue="conversion", action="retry", reason="x", filters={"status": "FAILED"}, asked_by=done.asked_by
    ).move("prepare", total=0, eligible=0)
    assert running.tidy() == "Cancelled 0, forgot 0 results."

    BulkAction.objects.update(updated_at="2020-01-01T00:00Z")
    BulkAction.objects.filter(pk=done.pk).update(finished_at="2020-01-01T00:00Z")

    assert running.tidy() == "Cancelled 1, forgot 1 results."
    stale.refresh_from_db()
    assert stale.status == "CANCELLED"


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_do_the_same_batch(make_person, site, make_failed, small_batches, in_threads) -> None:
    """Each believes the other dead: the lease is over before every batch."""
    make_failed(site, 60)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)
    claimed = [BulkAction.objects.claim()]
    BulkAction.objects.update(lease_until="2020-01-01T00:00Z")
    claimed.append(BulkAction.objects.claim())

    def rival(number: int) -> None:
        work(claimed[number])
        for _ in range(20):
            BulkAction.objects.filter(pk=action.pk, status="RUNNING").update(lease_until="2020-01-01T00:00Z")
            work_due()

    in_threads(rival, count=2)
    work_due()

    action.refresh_from_db()
    assert (action.status, action.moved_count) == ("DONE", 60)
    agrees(operator, action)


@pytest.mark.django_db(transaction=True)
def test_two_operators_over_the_same_rows_at_once(make_person, make_site, make_failed, in_threads) -> None:
    """Every row is moved by one of them, and told by the other."""
    sites = [make_site() for _ in range(3)]
    for site in sites:
        make_failed(site, 200)
    people = [make_person(name, sites=dict.fromkeys(sites, "operator")) for name in ("ayse", "can")]
    actions = [asked(person, count="600") for person in people]

    in_threads(lambda _: work_due(), count=2)

    for action, person in zip(actions, people, strict=True):
        action.refresh_from_db()
        assert action.status == "DONE"
        agrees(person, action)
    assert sum(action.moved_count for action in actions) == 600
    assert sum(action.left.get("QUEUED", 0) for action in actions) == 600
    assert sum(sum(moves(action).values()) for action in actions) == 600


@pytest.mark.django_db(transaction=True)
def test_a_cancel_amid_a_batch_waits_for_its_end(make_person, site, make_failed, small_batches, in_threads) -> None:
    make_failed(site, 40)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)

    def both(number: int) -> None:
        if number:
            wait_until(lambda: BulkAction.objects.filter(done_count__gt=0).exists())
            BulkAction.objects.filter(pk=action.pk).cancel()
        else:
            work_due()

    in_threads(both, count=2)

    action.refresh_from_db()
    assert action.status in ("CANCELLED", "DONE")
    assert states().get("QUEUED", 0) == action.moved_count
    agrees(operator, action)


@pytest.mark.django_db(transaction=True)
def test_killed_workers_neither_repeat_nor_skip(make_person, site, make_failed, workers: Workers) -> None:
    """SIGKILL of a real worker in the middle of a bulk action, twice; the next goes on after the last whole batch."""
    total = 12_000  # more than a page counts, so that a worker writes them down too
    for _ in range(4):
        make_failed(site, total // 4)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)
    wait_until(lambda: BulkAction.objects.filter(status="READY").exists())
    operator.post(f"{PAGES}{action.pk}/start/", {"count": f"{total:,}"})
    killed_at = []
    for _ in range(2):
        done = killed_at[-1] if killed_at else 0
        end = time.monotonic() + 90
        while time.monotonic() < end:
            action.refresh_from_db()
            if action.done_count > done or action.status == "DONE":
                break
        if action.status == "DONE":
            break
        for busy in workers.titled("processing"):
            busy.kill()
        time.sleep(0.5)
        action.refresh_from_db()
        killed_at.append(action.done_count)

    wait_until(lambda: BulkAction.objects.filter(status="DONE").exists(), seconds=150)

    action.refresh_from_db()
    assert killed_at
    assert 0 < killed_at[0] < total, "it was killed on its way"
    assert (action.total, action.done_count, action.moved_count, action.left) == (total, total, total, {})
    assert states() == {"QUEUED": total}
    agrees(operator, action)


def test_the_page_renews_itself_until_the_end(make_person, site, make_failed) -> None:
    make_failed(site, 2)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)

    before = operator.get(f"{PAGES}{action.pk}/change/").content.decode()
    worked(action)
    after = operator.get(f"{PAGES}{action.pk}/progress/").content.decode()

    assert "every 2s" in before
    assert "Refresh" in before, "by hand, where there is no JavaScript"
    assert "Cancel the rest" in before
    assert "every 2s" not in after
    assert "Retried 2 of 2." in after
    assert "<html" not in after


def test_a_file_of_results_is_safe_and_told_row_by_row(make_person, site, make_failed) -> None:
    rows = make_failed(site, 2)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)
    Conversion.objects.filter(pk=rows[0].pk).reset_to_queued()

    waiting = results(operator, action)
    worked(action)
    told = results(operator, action)

    assert {row["outcome"] for row in waiting.values()} == {"waiting"}
    assert told[rows[0].pk] | {"doneAt": ""} == {
        "id": str(rows[0].pk),
        "foundAs": "FAILED",
        "outcome": "left",
        "wasThen": "QUEUED",
        "doneAt": "",
    }
    assert told[rows[1].pk]["outcome"] == "moved"
    assert BulkItem.objects.count() == 2
