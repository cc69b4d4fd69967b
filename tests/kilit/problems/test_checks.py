"""A queue must say where people are named, and how long rows are kept."""

from dataclasses import replace

import pytest

from kilit.batches.queues import queues
from kilit.problems import checks


def test_every_queue_answers_what_is_easily_forgotten() -> None:
    assert checks.check_queues() == []


def test_a_queue_that_answers_nothing_is_is_asked_both(monkeypatch: pytest.MonkeyPatch) -> None:
    name, queue = next(iter(queues.items()))
    monkeypatch.setitem(queues, name, replace(queue, free_text=None, keeping=None))

    messages = checks.check_queues()

    assert [message.id for message in messages] == ["kilit.E012", "kilit.E013"]
    assert all(name in message.msg and message.hint for message in messages)
