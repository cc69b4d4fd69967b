"""Drafts that are sent at the same time, and a process that is killed while it sends: one job, or none."""

import signal
import threading
from typing import Any

import pytest

from kilit.lock.models import Event
from orchestrator.drafts import sending
from orchestrator.drafts.sending import send_draft
from orchestrator.models import Job, OrderDraft, OrderFile
from orchestrator.orders.enqueue import enqueue
from orchestrator.planning.rules import current_rules
from tests.support.drafts import UPLOAD, make_draft
from tests.support.killed_process import die, die_after, fork
from tests.support.waiting import PATIENCE, has_waiter, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_second_click_waits_for_the_first_and_finds_its_job(in_threads, monkeypatch) -> None:
    draft = make_draft(upload=UPLOAD)

    def enqueue_while_the_other_waits(*args: Any, **options: Any) -> tuple[Job, bool]:
        wait_until(has_waiter, every=0.02)
        return enqueue(*args, **options)

    monkeypatch.setattr(sending, "enqueue", enqueue_while_the_other_waits)
    answers = in_threads(lambda _: send_draft(draft.pk, current_rules()), count=2)

    job = Job.objects.get()
    assert sorted(answers, key=lambda answer: answer[1]) == [(job, False), (job, True)]
    assert [event.event_type for event in Event.objects.of(job)] == ["JOB_CREATED"]


def test_two_people_who_send_drafts_of_the_same_file_at_once_make_one_job(in_threads) -> None:
    ids = [make_draft(upload=UPLOAD).pk for _ in range(2)]
    together = threading.Barrier(2)

    def send(number: int) -> tuple[Job, bool]:
        together.wait(timeout=PATIENCE)
        return send_draft(ids[number], current_rules())

    answers = in_threads(send, count=2)

    job = Job.objects.get()
    assert sorted(answers, key=lambda answer: answer[1]) == [(job, False), (job, True)]
    assert set(OrderDraft.objects.values_list("job", flat=True)) == {job.pk}
    assert OrderFile.objects.count() == 1


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("enqueue", die),
        ("enqueue", die_after(sending.enqueue)),
        ("store_order_file", die_after(sending.store_order_file)),
    ],
    ids=["before the job is stored", "after the job, before its file", "after the file, before the draft is sent"],
)
def test_a_killed_process_leaves_no_job_and_the_draft_can_be_sent(name, replacement) -> None:
    draft = make_draft(upload=UPLOAD)

    ended = fork(lambda: send_draft(draft.pk, current_rules()), sending, name, replacement)

    assert ended == -signal.SIGKILL
    assert not Job.objects.exists()
    job, is_known = send_draft(draft.pk, current_rules())
    assert (job, is_known) == (Job.objects.get(), False)
    assert OrderFile.objects.get().job == job
