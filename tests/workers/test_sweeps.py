"""Sweeps are declared in code, scheduled from there, and say what they did."""

import pytest
from django_q.models import Schedule

from lifecycle.models import Event, SweepRun
from lifecycle.workers import sweeps
from tests.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def scheduled() -> dict[str, int]:
    return dict(Schedule.objects.values_list("name", "minutes"))


def test_schedules_are_those_declared_and_no_others() -> None:
    Schedule.objects.create(name="foreign", func="os.system", args="nonsense(")
    Schedule.objects.create(name="gone", func=sweeps.DOOR, schedule_type="I", minutes=1)

    sweeps.reconcile()

    assert scheduled() == {name: sweep.every.total_seconds() / 60 for name, sweep in sweeps.sweeps.items()}
    assert {"fold_counts", "recover_parcels"} <= set(scheduled())


def test_reconciling_again_keeps_the_next_run_and_mends_the_rest() -> None:
    sweeps.reconcile()
    Schedule.objects.filter(name="fold_counts").update(minutes=77, next_run="2030-01-01T00:00Z", repeats=0)

    sweeps.reconcile()

    schedule = Schedule.objects.get(name="fold_counts")
    assert (schedule.minutes, schedule.repeats, schedule.next_run.year) == (1, -1, 2030)


@pytest.mark.django_db(transaction=True)
def test_supervisors_starting_at_once_schedule_once(in_threads) -> None:
    in_threads(lambda _: sweeps.reconcile(), count=6)

    assert Schedule.objects.count() == len(sweeps.sweeps)


def test_a_run_is_written_down_and_names_itself_as_actor() -> None:
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    Parcel.objects.update(lease_until="2020-01-01T00:00Z")

    assert sweeps.run("recover_parcels") == "Recovered 1."

    run = SweepRun.objects.get(name="recover_parcels")
    assert (run.succeeded, run.result) == (True, "Recovered 1.")
    assert run.finished_at >= run.started_at
    assert Event.objects.of(Parcel.objects.get()).last().actor == "sweep:recover_parcels"


def test_a_failing_sweep_is_written_down_as_failed(monkeypatch) -> None:
    def fail() -> str:
        raise ValueError("no broom")

    monkeypatch.setitem(
        sweeps.sweeps, "fold_counts", sweeps.Sweep("fold_counts", sweeps.sweeps["fold_counts"].every, fail)
    )

    with pytest.raises(ValueError, match="no broom"):
        sweeps.run("fold_counts")

    run = SweepRun.objects.get(name="fold_counts")
    assert (run.succeeded, run.result) == (False, "ValueError: no broom")
