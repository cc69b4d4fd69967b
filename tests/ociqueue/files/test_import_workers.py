"""Workers of imports: killed, late, cancelled, without time, or failing."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from kilit.batches import engine
from kilit.lock.leases import MOST_LAPSES
from kilit.lock.models import Activity
from kilit.problems.registry import find_problems
from kilit.sentences import english
from ociqueue.files import import_run
from ociqueue.files import import_run as import_passes
from ociqueue.files.import_run import ENGINE, tidy
from ociqueue.models import Conversion, ImportChunk, ImportJob, ImportKey, ImportLine
from tests.support.fixtures.imports import operator, small_steps
from tests.support.imports import (
    HEADER,
    PAGES,
    TIME,
    confirm,
    good_lines,
    uploaded,
    worked,
)
from tests.support.turns import one_after_the_other

pytestmark = pytest.mark.django_db


__all__ = ["operator", "small_steps"]


@pytest.mark.parametrize("state", ["READING", "CHECKING", "RUNNING"])
def test_a_worker_that_dies_between_batches_neither_repeats_nor_skips(operator, site, state, monkeypatch) -> None:
    bad = f"Satış,,{TIME},3,TRY\n"
    file = HEADER + good_lines(5) + bad + good_lines(5, first=5) + good_lines(2) + bad
    job = uploaded(operator, site, file)
    died = []

    def die_once(run, batch, user):
        if not died and job_state() == state and ImportJob.objects.get().done_bytes:
            died.append(state)
            raise SystemExit  # as SIGKILL: nothing is caught, and the transaction is lost
        return process(run, batch, user)

    def job_state() -> str:
        return ImportJob.objects.get().status

    pass_of_state = import_passes.PASSES[state]
    process = pass_of_state.process
    monkeypatch.setattr(pass_of_state, "process", die_once)
    for _ in range(3):
        try:
            worked(job)
        except SystemExit:
            assert not ImportJob.objects.due().exists(), "its lease has not lapsed"
            ImportJob.objects.update(lease_until="2020-01-01T00:00Z")
        if job_state() == "READY":
            confirm(operator, job)

    job.refresh_from_db()
    assert (died, job.status) == ([state], "DONE")
    expected = {"lines": 14, "created": 10, "duplicates": 2, "rejected_lines": 2}
    assert {name: job.counts[name] for name in expected} == expected
    assert {name: job.checked[name] for name in expected} == expected
    assert list(ImportLine.objects.filter(is_checked=False).values_list("line", flat=True)) == [7, 15]
    assert Conversion.objects.count() == 10


def test_cancelling_waits_for_the_batch_and_keeps_what_was_stored(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(9)))
    confirm(operator, job)
    claimed = ImportJob.objects.claim()
    ENGINE.work(claimed, until=0)  # one batch

    answer = operator.post(f"{PAGES}{job.pk}/cancel/", follow=True)
    worked(job)

    assert (job.status, job.counts["created"], Conversion.objects.count()) == ("CANCELLED", 3, 3)
    assert "Stopped. 3 were already stored and stay stored." in answer.text
    assert not ImportChunk.objects.exists()
    tidy()
    assert not ImportKey.objects.exists()
    assert Activity.objects.get(kind="import").rows == 3
    again = operator.post(f"{PAGES}{job.pk}/cancel/", follow=True)
    assert "Nothing was changed. Its state: Cancelled." in again.text


@pytest.mark.django_db(transaction=True)
def test_a_batch_and_a_cancel_at_the_same_moment_take_turns(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(9)))
    confirm(operator, job)
    claimed = ImportJob.objects.claim()

    one_after_the_other(lambda: ENGINE.work(claimed, until=0), lambda: ENGINE.cancel(ImportJob.objects.get()))
    worked(job)

    assert (job.status, job.counts["created"], Conversion.objects.count()) == ("CANCELLED", 3, 3)


def test_a_worker_that_lost_its_claim_stores_nothing_more(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(9)))
    confirm(operator, job)
    slow = ImportJob.objects.claim()
    ImportJob.objects.update(lease_until="2020-01-01T00:00Z")

    quick = ImportJob.objects.claim()
    ENGINE.work(slow)
    assert not Conversion.objects.exists()
    ENGINE.work(quick)

    job.refresh_from_db()
    assert (job.status, job.counts["created"], Conversion.objects.count()) == ("DONE", 9, 9)


def test_who_lost_the_site_does_not_go_on_importing(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(9)))
    confirm(operator, job)
    User.objects.get(username="ayse").site_memberships.all().delete()

    worked(job)

    assert (job.status, job.error) == ("FAILED", "ayse may no longer import into this site.")
    assert not Conversion.objects.exists()


def test_what_lasts_longer_than_a_task_is_continued_by_the_next(operator, site, monkeypatch) -> None:
    job = uploaded(operator, site, HEADER + good_lines(9))
    seconds = iter(range(1000))
    monkeypatch.setattr(engine.time, "monotonic", lambda: next(seconds))

    slices = 0
    while job.status != "READY":
        assert import_run.ENGINE.work_due(seconds=2), "something is due"
        job.refresh_from_db()
        slices += 1

    assert slices > 5
    assert job.checked["created"] == 9


def test_a_failed_import_is_a_problem_for_a_day_and_a_fault_of_ours_is_tried_again(
    operator, site, monkeypatch, admin_user
) -> None:
    def fail(*args: object) -> None:
        raise ZeroDivisionError

    job = worked(uploaded(operator, site, HEADER + good_lines(9)))
    confirm(operator, job)
    monkeypatch.setattr(import_passes.StoringPass, "process", fail)
    for _ in range(MOST_LAPSES + 1):
        worked(job)
        ImportJob.objects.exclude(lease_until=None).update(lease_until="2020-01-01T00:00Z")

    assert (job.status, english(job.error)) == ("FAILED", "ZeroDivisionError; see the log.")
    assert not ImportChunk.objects.exists()
    (problem,) = [each for each in find_problems(admin_user) if each.kind == "import-stopped"]
    assert (problem.title, problem.link) == ("Mobilya: an import stopped", f"{PAGES}{job.pk}/change/")
    ImportJob.objects.update(finished_at=Now() - timedelta(days=2))
    assert "import-stopped" not in [each.kind for each in find_problems(admin_user)]
