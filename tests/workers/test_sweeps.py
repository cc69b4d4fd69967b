"""Sweeps are declared in code, run when they are due, and store their result."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kilit.lock.models import Event
from kilit.workers import sweeps
from kilit.workers.models import SweepRun
from tests.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def test_the_schedule_in_the_database_matches_the_code() -> None:
    SweepRun.objects.create(name="gone")
    SweepRun.objects.create(name="fold_counts", result="Folded 3.")

    sweeps.reconcile()

    assert set(SweepRun.objects.values_list("name", flat=True)) == set(sweeps.sweeps)
    assert SweepRun.objects.get(name="fold_counts").result == "Folded 3."
    assert {"fold_counts", "recover_parcels"} <= set(sweeps.sweeps)


def test_a_sweep_is_due_when_its_time_has_come_and_not_before() -> None:
    sweeps.reconcile()
    assert set(sweeps.take_due()) == set(sweeps.sweeps)
    assert sweeps.take_due() == []

    SweepRun.objects.filter(name="fold_counts").update(taken_at=timezone.now() - timedelta(seconds=61))
    SweepRun.objects.filter(name="oci_attempt_cap").update(taken_at=timezone.now() - timedelta(minutes=14))

    assert sweeps.take_due() == ["fold_counts"]


@pytest.mark.django_db(transaction=True)
def test_of_several_supervisors_one_takes_a_sweep(in_threads) -> None:
    in_threads(lambda _: sweeps.reconcile(), count=6)
    taken = in_threads(lambda _: sweeps.take_due(), count=6)

    assert sorted(name for names in taken for name in names) == sorted(sweeps.sweeps)


def test_a_run_is_stored_and_is_the_actor_of_its_moves() -> None:
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    Parcel.objects.update(lease_until="2020-01-01T00:00Z")

    assert sweeps.run("recover_parcels") == "Recovered 1."

    run = SweepRun.objects.get(name="recover_parcels")
    assert (run.succeeded, run.result) == (True, "Recovered 1.")
    assert run.finished_at >= run.started_at
    assert Event.objects.of(Parcel.objects.get()).last().actor == "sweep:recover_parcels"


def test_a_failing_sweep_is_stored_as_failed(monkeypatch) -> None:
    def fail() -> str:
        raise ValueError("no broom")

    monkeypatch.setitem(
        sweeps.sweeps, "fold_counts", sweeps.Sweep("fold_counts", sweeps.sweeps["fold_counts"].every, fail)
    )

    with pytest.raises(ValueError, match="no broom"):
        sweeps.run("fold_counts")

    run = SweepRun.objects.get(name="fold_counts")
    assert (run.succeeded, run.result) == (False, "ValueError: no broom")
