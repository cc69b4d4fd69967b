"""Running a bulk action: exact through crashes and cancels, with a result for each row."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.batches import run
from kilit.batches.models import BulkAction, BulkItem
from kilit.batches.operations import OperationUnavailable
from kilit.batches.run import ENGINE, run_batch
from kilit.lock.leases import ClaimLost
from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Conversion
from ociqueue.operating.operations import ConversionOperation
from tests.support.bulk_actions import PAGES, asked, said, states, worked
from tests.support.bulk_results import agrees, results

pytestmark = pytest.mark.django_db


def test_every_event_has_the_user_and_the_reason(operator, site, make_failed) -> None:
    rows = make_failed(site, 3)

    action = worked(asked(operator))

    event = Event.objects.of(rows[0]).last()
    assert (event.actor, event.message) == ("operator:ayse", f"fixed ({action})")
    assert [e.actor for e in Event.objects.of(action)] == [
        "operator:ayse",
        "operator:ayse",
        "operator:ayse",
        "worker:bulk_actions",
    ]
    agrees(operator, action)


def test_rows_that_come_later_are_not_touched(operator, site, make_failed) -> None:
    make_failed(site, 2)
    action = asked(operator)
    make_failed(site, 3)

    worked(action)

    assert states() == {"QUEUED": 2, "FAILED": 3}


def test_rows_that_come_before_a_worker_counts_are_not_touched(operator, site, make_failed, monkeypatch) -> None:
    """Filters count from the moment of asking, also when a worker comes to it much later."""
    make_failed(site, 2)
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 1)
    action = asked(operator, query="since=1&status=FAILED")
    # What was made an hour before the worker came, and after it was asked for.
    make_failed(site, 3)
    BulkAction.objects.update(as_of=Now() - timedelta(minutes=30))
    Conversion.objects.filter(pk__in=Conversion.objects.order_by("pk").values("pk")[:2]).update(
        created_at=Now() - timedelta(minutes=80)
    )

    worked(action)

    assert (action.status, action.total) == ("READY", 2)


def test_cancel_stops_before_the_next_batch(make_person, site, make_failed, small_batches) -> None:
    make_failed(site, 10)
    operator, colleague = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    asked(operator)
    action = BulkAction.objects.claim()
    run_batch(action)

    asking = colleague.get(f"{PAGES}{action.pk}/cancel/").context
    answer = colleague.post(f"{PAGES}{action.pk}/cancel/", {"reason": "the wrong account"}, follow=True)
    with pytest.raises(ClaimLost):
        run_batch(action)
    ENGINE.work_due()

    action.refresh_from_db()
    assert asking["submit"] == "Stop the rest"
    assert asking["sentences"] == ["2 of 10 are already changed and stay changed. The others will not change."]
    assert said(answer) == ["Stopped. 2 of 10 were already changed and stay changed."]
    assert (action.status, action.done_count, action.moved_count) == ("CANCELLED", 2, 2)
    assert states() == {"QUEUED": 2, "FAILED": 8}
    event = Event.objects.of(action).last()
    assert (event.actor, event.message) == ("operator:can", "the wrong account")
    agrees(operator, action)


@pytest.mark.parametrize("reason", [{}, {"reason": "  "}])
def test_nothing_is_cancelled_without_a_reason(operator, site, make_failed, reason) -> None:
    make_failed(site, 2)
    action = asked(operator)

    page = operator.get(f"{PAGES}{action.pk}/change/")
    asking = operator.post(f"{PAGES}{action.pk}/cancel/", reason)
    action.refresh_from_db()
    assert page.context["cancel_label"] == asking.context["submit"] == "Stop"
    assert f'href="{PAGES}{action.pk}/cancel/"' in page.content.decode()
    assert asking.context["sentences"] == ["Nothing has been changed yet, and nothing will be."]
    assert action.status == "RUNNING"

    answer = operator.post(f"{PAGES}{action.pk}/cancel/", {"reason": "a mistake"}, follow=True)
    again = operator.get(f"{PAGES}{action.pk}/cancel/", follow=True)
    action.refresh_from_db()
    assert said(answer) == ["Stopped. Nothing was changed."]
    assert said(again) == ["Nothing was changed. Its state: Cancelled."]
    assert (action.status, states()) == ("CANCELLED", {"FAILED": 2})


def test_a_batch_that_breaks_off_leaves_nothing_and_is_tried_again(
    operator, site, make_failed, small_batches, monkeypatch
) -> None:
    make_failed(site, 4)
    action = asked(operator)
    record_results, calls = run.record_results, []

    def record_once(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("the power went")
        record_results(*args)

    monkeypatch.setattr(run, "record_results", record_once)
    ENGINE.work_due()
    action.refresh_from_db()
    first = (action.status, action.done_count, english(action.error))
    BulkAction.objects.update(lease_until=None, claim_token=None)
    worked(action)

    assert first == ("RUNNING", 2, "RuntimeError; see the log.")
    assert (action.status, action.moved_count, action.error) == ("DONE", 4, "")
    agrees(operator, action)


def test_an_operation_that_never_works_fails_with_its_message(operator, site, make_failed, monkeypatch) -> None:
    make_failed(site, 2)
    action = asked(operator)

    def never(*_: Any) -> None:
        raise OperationUnavailable("The store does not answer.")

    monkeypatch.setattr(ConversionOperation, "apply", never)
    for _ in range(7):
        BulkAction.objects.filter(status="RUNNING").update(lease_until="2020-01-01T00:00Z")
        ENGINE.work_due()

    action.refresh_from_db()
    assert (action.status, action.error) == ("FAILED", "The store does not answer.")
    assert states() == {"FAILED": 2}


def test_unconfirmed_plans_are_cancelled_and_old_results_deleted(operator, site, make_failed, sql) -> None:
    make_failed(site, 1)
    done = worked(asked(operator))
    stale = BulkAction.objects.create(
        queue="conversion", action="retry", reason="x", filters={"status": "FAILED"}, asked_by=done.asked_by
    ).move("prepare", total=0, eligible=0)
    assert run.tidy() == "Cancelled 0, deleted 0 results."

    BulkAction.objects.update(updated_at="2020-01-01T00:00Z")
    BulkAction.objects.filter(pk=done.pk).update(finished_at="2020-01-01T00:00Z")

    assert run.tidy() == "Cancelled 1, deleted 1 results."
    stale.refresh_from_db()
    assert stale.status == "CANCELLED"


def test_the_page_refreshes_itself(operator, site, make_failed) -> None:
    make_failed(site, 2)
    action = asked(operator)

    before = operator.get(f"{PAGES}{action.pk}/change/").content.decode()
    worked(action)
    after = operator.get(f"{PAGES}{action.pk}/progress/").content.decode()

    assert "data-live-ended" not in before
    assert "Refresh" in before, "by hand, where there is no JavaScript"
    assert f"{PAGES}{action.pk}/cancel/" in before
    assert 'data-live-every="5"' in after, "its rows go on"
    assert re.search(r"<h2[^>]*>Retried 2 of 2\.</h2>", after), "the outcome leads"
    assert "<html" not in after


def test_a_file_of_results_has_a_line_for_each_row(operator, site, make_failed) -> None:
    rows = make_failed(site, 2)
    action = asked(operator)
    Conversion.objects.filter(pk=rows[0].pk).reset_to_queued()
    operator.cookies["kilit_zone"] = "Asia/Tokyo"

    waiting = results(operator, action)
    worked(action)
    lines = results(operator, action)

    assert {row["result"] for row in waiting.values()} == {"waiting"}
    assert lines[rows[0].pk] | {"doneAt": ""} == {
        "id": str(rows[0].pk),
        "foundAs": "FAILED",
        "result": "skipped",
        "state": "QUEUED",
        "reason": "",
        "doneAt": "",
    }
    assert lines[rows[1].pk]["result"] == "changed"
    assert lines[rows[1].pk]["doneAt"].endswith("+09:00"), "in the reader's zone"
    assert BulkItem.objects.count() == 2
