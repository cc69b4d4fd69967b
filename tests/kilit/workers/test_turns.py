"""A worker's turn ends when nothing is left, or with a ring for what is."""

import pytest

from kilit.workers import doorbells
from kilit.workers.turns import work_in_turns


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    rung: list[str] = []
    monkeypatch.setattr(doorbells, "ring_if_due", rung.append)
    return rung


def test_a_turn_ends_without_a_ring_when_nothing_is_left(rung: list[str]) -> None:
    results = iter([2, 0, 3, None])

    assert work_in_turns("parcels", lambda: next(results)) == 5
    assert rung == []


def test_a_turn_that_is_over_rings_for_the_rest(rung: list[str]) -> None:
    assert work_in_turns("parcels", lambda: 1, seconds=0.01) > 0
    assert rung == ["parcels"]
