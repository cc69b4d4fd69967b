"""Drafts that are sent at the same time, and a process that is killed while it sends: one job, or none."""

import signal
import threading

import pytest

from kilit.lock.models import Event
from orchestrator.drafts import sending
from orchestrator.drafts.sending import send_draft
from orchestrator.models import Job, OrderDraft, OrderFile
from orchestrator.planning.rules import current_rules
from tests.support.drafts import UPLOAD, make_draft
from tests.support.killed_process import die, die_after, fork
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("drafts", [1, 2])
def test_two_people_who_send_the_same_order_at_once_make_one_job(drafts, in_threads) -> None:
    """One draft that both have open, or two drafts of the same file."""
    ids = [make_draft(upload=UPLOAD).pk for _ in range(drafts)]
    together = threading.Barrier(2)

    def send(number: int) -> tuple[Job, bool]:
        together.wait(timeout=PATIENCE)
        return send_draft(ids[number % drafts], current_rules())

    answers = in_threads(send, count=2)

    job = Job.objects.get()
    assert sorted(answers, key=lambda answer: answer[1]) == [(job, False), (job, True)]
    assert set(OrderDraft.objects.values_list("job", flat=True)) == {job.pk}
    assert OrderFile.objects.count() == 1
    events = sorted(Event.objects.of(job).values_list("event_type", flat=True))
    # The second click on the same draft waits and finds its job; a second draft sends the same order again.
    assert events == ["JOB_CREATED"] + ["JOB_DEDUP"] * (drafts - 1)


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
