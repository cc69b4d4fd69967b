"""A seed is a run that can be had again."""

import pytest

from tests.system.chaos.strikes import STRIKES, WEIGHTS, schedule


def test_a_seed_gives_the_same_strikes_each_time() -> None:
    assert schedule(7, 60) == schedule(7, 60)
    assert schedule(7, 60) != schedule(8, 60)


@pytest.mark.parametrize("seconds", [10, 60, 150])
@pytest.mark.parametrize("seed", range(5))
def test_each_kind_strikes_within_the_time(seed, seconds) -> None:
    strikes = schedule(seed, seconds)

    assert {strike.kind for strike in strikes} == set(WEIGHTS) == set(STRIKES)
    assert max(strike.at for strike in strikes) < seconds
