"""Sweeps are declared in code, run when they are due, and store their result."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from django.utils import timezone

from kilit.lock.models import Event
from kilit.workers import sweeps
from kilit.workers.models import SweepRun
from tests.apps.parcels.models import Parcel

pytestmark = pytest.mark.django_db


def test_the_schedule_in_the_database_matches_the_code() -> None:
    SweepRun.objects.create(name="gone")
    SweepRun.objects.create(name="fold_counts", result="Folded 3.")

    sweeps.reconcile()

    assert set(SweepRun.objects.values_list("name", flat=True)) == set(sweeps.sweeps)
    assert SweepRun.objects.get(name="fold_counts").result == "Folded 3."
    assert {"fold_counts", "recover_parcels"} <= set(sweeps.sweeps)


@pytest.fixture
def _nothing_is_idle(monkeypatch) -> None:
    for name, sweep in sweeps.sweeps.items():
        monkeypatch.setitem(sweeps.sweeps, name, replace(sweep, due=None))


@pytest.mark.usefixtures("_nothing_is_idle")
def test_a_sweep_is_due_when_its_time_has_come_and_not_before() -> None:
    sweeps.reconcile()
    assert set(sweeps.take_due()) == set(sweeps.sweeps)
    assert sweeps.take_due() == []

    SweepRun.objects.filter(name="fold_counts").update(taken_at=timezone.now() - timedelta(seconds=61))
    SweepRun.objects.filter(name="oci_attempt_cap").update(taken_at=timezone.now() - timedelta(minutes=14))

    assert sweeps.take_due() == ["fold_counts"]


def test_a_sweep_without_due_rows_counts_as_run_and_troubles_no_worker(django_assert_num_queries) -> None:
    sweeps.reconcile()
    SweepRun.objects.filter(name="recover_parcels").update(succeeded=False, result="ValueError: no broom")

    with django_assert_num_queries(1):
        taken = sweeps.take_due()

    idle = {name for name, sweep in sweeps.sweeps.items() if sweep.due}
    assert set(taken) == set(sweeps.sweeps) - idle
    assert {"recover_parcels", "pdf_reap", "orchestrator_release_lapsed", "outbox_recover", "fold_counts"} <= idle
    run = SweepRun.objects.get(name="recover_parcels")
    assert (run.succeeded, run.result) == (True, "Nothing to do.")
    assert run.taken_at == run.started_at == run.finished_at
    assert sweeps.take_due() == []


def test_a_sweep_with_due_rows_is_run() -> None:
    sweeps.reconcile()
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    Parcel.objects.update(lease_until="2020-01-01T00:00Z")

    assert "recover_parcels" in sweeps.take_due()

    run = SweepRun.objects.get(name="recover_parcels")
    assert (run.started_at, run.succeeded, run.result) == (None, None, "")


def test_the_time_in_the_statement_is_the_databases() -> None:
    """Supervisors keep the statement, so a time of their own in it would soon be an old one."""
    assert not [param for param in sweeps.take_statement().params if isinstance(param, date)]


@pytest.mark.usefixtures("_nothing_is_idle")
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
