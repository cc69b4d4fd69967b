"""Drafts that are sent at the same time become one job."""

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
