"""When the calm after a storm ends: by what the database says, however fast the machine is."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.workers.doorbells import Doorbell, doorbells
from ociqueue.models import Conversion
from orchestrator.models import Job
from outbox.log_reader import BELL
from tests.support.cutting_jobs import make_job
from tests.system.chaos import pending
from tests.system.chaos.calm import QUIET_TURNS, Patience, Step
from tests.system.chaos.pending import LIMIT, Pending

pytestmark = pytest.mark.django_db

STUCK = [Pending("cutting_job", "x", "OPTI_RUNNING", LIMIT, -5.0)]
RUNNING = [Pending("cutting_job", "x", "OPTI_RUNNING", LIMIT, 5.0)]


def steps(patience: Patience, left: list[Pending], *, turns: int) -> set[Step]:
    """Return what is decided over some turns in which nothing moves."""
    return {patience.step((1,), left) for _ in range(turns)}


def test_it_gives_up_only_after_a_leap_of_time_changed_nothing() -> None:
    patience = Patience()

    assert steps(patience, STUCK, turns=QUIET_TURNS) == {Step.WAIT}
    assert steps(patience, STUCK, turns=1) == {Step.LEAP}
    assert steps(patience, STUCK, turns=QUIET_TURNS - 1) == {Step.WAIT}
    assert steps(patience, STUCK, turns=1) == {Step.GIVE_UP}


def test_a_move_begins_the_wait_again() -> None:
    patience = Patience()
    steps(patience, STUCK, turns=2 * QUIET_TURNS)

    assert patience.step((2,), STUCK) is Step.WAIT
    assert not patience.leapt
    assert patience.turns == 0


def test_a_limit_of_the_rules_is_waited_for_however_long_nothing_moves() -> None:
    patience = Patience()

    assert Step.GIVE_UP not in steps(patience, RUNNING, turns=10 * QUIET_TURNS)
    assert patience.step((1,), STUCK) is Step.GIVE_UP


def test_it_names_what_has_not_ended_and_until_when_it_may_wait(make_site, make_conversion, past_the_guards) -> None:
    site = make_site()
    make_conversion(site)
    Conversion.objects.for_site(site).claim(limit=1)
    job = make_job()
    Job.objects.filter(pk=job.pk).update(next_run_at=Now() + timedelta(minutes=2))

    row, order = map(str, pending.find_pending())

    assert "is PROCESSING, its claim passes in" in row
    assert order.startswith(f"cutting_job {job.pk} is NEW, its next run passes in 1")
    past_the_guards(
        "UPDATE orchestrator_job SET status = 'OPTI_RUNNING', attempt_started_at = now(), opti_started_at = now()"
    )
    (found,) = [one for one in pending.find_pending() if one.queue == "cutting_job"]
    assert (found.state, found.what) == ("OPTI_RUNNING", LIMIT)
    assert found.seconds == pytest.approx(20 * 60, abs=60)


def test_what_is_left_is_counted_with_a_reason_for_each_state() -> None:
    document = Pending("pdf", "y", "queued", "its claim", None)

    assert pending.summary([*STUCK, document, *STUCK]) == (
        "2 of cutting_job OPTI_RUNNING (cutting_job x is OPTI_RUNNING, its limit passed 5 s ago);"
        " 1 of pdf queued (pdf y is queued and waits for no time: something should take it)"
    )


def test_a_row_that_ends_while_the_log_is_looked_at_is_waited_for(make_site, make_conversion, monkeypatch) -> None:
    make_conversion(make_site())

    def is_read_before_the_row_ends() -> list[Conversion]:
        Conversion.objects.all().mark_failed()
        return []

    monkeypatch.setitem(doorbells, BELL, Doorbell(BELL, is_read_before_the_row_ends, lambda: None))

    assert pending.waiting()


def test_what_has_ended_or_waits_for_an_operator_is_not_pending(make_site, make_conversion) -> None:
    make_conversion(make_site())
    Conversion.objects.all().mark_failed()

    assert not pending.find_pending()
    assert not pending.waiting()


def test_each_kind_of_row_can_be_asked_for(world) -> None:
    assert not pending.find_pending()
    assert set(pending.WAITS) == {table.queue for table, *_ in pending.QUEUES} - {
        "circuit",
        "stock_item",
    }  # no work: they wait for nothing


def test_a_row_that_moves_on_and_on_is_found(make_site, make_conversion, past_the_guards) -> None:
    row = make_conversion(make_site())
    past_the_guards(
        f"""INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, details)
        SELECT 'conversion', '{row.pk}', 'x', 'RETRY', 'PROCESSING', 'x', '{{}}'
        FROM generate_series(1, {pending.MOST_MOVES})"""
    )

    (found,) = pending.endless(0)

    assert f"conversion {row.pk} has moved {pending.MOST_MOVES + 1} times" in found
