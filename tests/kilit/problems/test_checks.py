"""A queue must say where people are named, and how long rows are kept."""

from dataclasses import replace

import pytest

from kilit.batches.queues import queues
from kilit.lock.free_text import FreeText
from kilit.problems import checks
from pdfjobs.models import PdfJob


def test_every_queue_answers_what_is_easily_forgotten() -> None:
    assert checks.check_queues() == []


def test_a_queue_that_answers_nothing_is_is_asked_both(monkeypatch: pytest.MonkeyPatch) -> None:
    name, queue = next(iter(queues.items()))
    monkeypatch.setitem(queues, name, replace(queue, free_text=None, keeping=None))

    messages = checks.check_queues()

    assert [message.id for message in messages] == ["kilit.E012", "kilit.E013"]
    assert all(name in message.msg and message.hint for message in messages)


def test_a_column_that_names_a_person_is_erased_or_kept_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(queues, "pdf", replace(queues["pdf"], kept_names=()))
    (error,) = checks.check_queues()
    monkeypatch.setitem(queues, "pdf", replace(queues["pdf"], free_text=[FreeText(PdfJob, ("recipient",))]))

    assert (error.id, "recipient" in error.msg) == ("kilit.E016", True)
    assert checks.check_queues() == []
