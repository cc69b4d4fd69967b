"""Identifiers sort by time, also those that are made one right after the other."""

import time
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import RFC_4122

from kilit.lock.identity import first_at, uuid7


def test_what_is_made_later_sorts_later_also_within_a_millisecond(monkeypatch) -> None:
    microseconds = count(1_790_000_000_000_000_000, 1_000)
    monkeypatch.setattr(time, "time_ns", lambda: next(microseconds))

    made = [uuid7() for _ in range(5_000)]

    assert made == sorted(made)
    assert {(each.version, each.variant) for each in made} == {(7, RFC_4122)}


def test_two_of_the_same_moment_differ(monkeypatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_790_000_000_000_000_000)

    assert len({uuid7() for _ in range(1_000)}) == 1_000


def test_a_moment_lies_between_what_was_made_before_and_after(monkeypatch) -> None:
    moment = datetime(2026, 11, 15, 12, tzinfo=UTC)

    def made_at(when: datetime) -> str:
        monkeypatch.setattr(time, "time_ns", lambda: int(when.timestamp()) * 1_000_000_000)
        return str(uuid7())

    assert made_at(moment - timedelta(seconds=1)) < str(first_at(moment)) < made_at(moment)
