"""Whatever happens while it runs, a bulk action's sums, its items and the events agree."""

from collections import Counter
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from kilit.batches import run
from kilit.batches.models import BulkAction, BulkItem
from kilit.batches.run import run_batch
from kilit.lock.leases import ClaimLost
from kilit.lock.models import Event
from ociqueue.models import Conversion
from ociqueue.operating.operations import RETRY
from tests.support.bulk_actions import asked
from tests.support.examples import few
from tests.support.people import browser_of

pytestmark = pytest.mark.django_db

ROWS = 7
STEPS = ["batch", "crash", "lapse", "rival", "rival fails", "cancel", "work"]


@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, ROWS - 1)), max_size=8))
@few(30)
def test_sums_items_and_events_always_agree(make_site, make_failed, steps: list[tuple[str, int]]) -> None:
    site = make_site()
    rows = make_failed(site, ROWS)
    operator, _ = User.objects.get_or_create(username="walker", is_staff=True, is_superuser=True)
    action = asked(browser_of(operator), query=f"site={site.pk}")
    usual, record_results = RETRY.batch, run.record_results
    object.__setattr__(RETRY, "batch", 2)
    try:
        holder = BulkAction.objects.claim()
        for step, number in steps:
            match step:
                case "batch":
                    with suppress(ClaimLost):
                        run_batch(holder)
                case "crash":
                    run.record_results = _broken
                    with pytest.raises(ZeroDivisionError) if _would_act(holder) else suppress(ClaimLost):
                        run_batch(holder)
                    run.record_results = record_results
                case "lapse":
                    # What has ended has no lease that could; the database would refuse one.
                    held = BulkAction.objects.filter(pk=action.pk, lease_until__isnull=False)
                    held.update(lease_until="2020-01-01T00:00Z")
                    holder = BulkAction.objects.claim() or holder
                case "rival":
                    Conversion.objects.filter(pk=rows[number].pk).retry_selected()
                case "rival fails":
                    Conversion.objects.filter(pk=rows[number].pk).mark_failed()
                case "cancel":
                    BulkAction.objects.filter(pk=action.pk).cancel()
                case "work":
                    run.ENGINE.work_due()
            _agrees(action)
    finally:
        object.__setattr__(RETRY, "batch", usual)
        run.record_results = record_results
        BulkAction.objects.filter(pk=action.pk).cancel()


def _broken(*_: object) -> None:
    raise ZeroDivisionError


def _would_act(holder: BulkAction) -> bool:
    now = BulkAction.objects.get(pk=holder.pk)
    return now.status == "RUNNING" and now.claim_token == holder.claim_token and now.done_count < now.total


def _agrees(action: BulkAction) -> None:
    action.refresh_from_db()
    results = Counter(action.items.values_list("result", flat=True))
    assert results["changed"] == action.moved_count
    assert results["skipped"] == sum(count for _state, _reason, count in action.skipped)
    assert results["changed"] + results["skipped"] == action.done_count
    assert results.total() == action.total
    moves = Counter(Event.objects.filter(message=f"fixed ({action})").values_list("object_id", flat=True))
    moved = BulkItem.objects.filter(action=action, result="changed").values_list("object_id", flat=True)
    assert moves == Counter(moved), "each row moved once, and those alone"
    assert (action.status == "DONE") <= (action.done_count == action.total)
