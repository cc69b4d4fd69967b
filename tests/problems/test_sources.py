"""Problems that belong to no queue, and the kinds that there are."""

import shutil
from typing import Any, NamedTuple

import pytest

from kilit.console.failure_rates import FEWEST_ENDED
from kilit.problems import disk
from kilit.problems.registry import SeesEverything, find_problems
from tests.support.dashboard import make_conversions, make_site

pytestmark = pytest.mark.django_db

GB = 1_000_000_000


class Usage(NamedTuple):
    total: float
    used: float
    free: float


@pytest.fixture
def disks(settings, monkeypatch) -> dict[str, Any]:
    """One disk of 1,000 GB; the test says how much of it is free."""
    settings.DISK_LOW_GB = 5
    size = {"total": 1000 * GB, "used": 0, "free": 900 * GB}
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(**size))
    return size


def test_a_disk_that_is_almost_full_is_a_problem(disks, settings) -> None:
    assert list(disk.find(SeesEverything())) == []
    disks["free"] = 4.9 * GB

    (problem,) = disk.find(SeesEverything())

    assert problem.title == "A disk is almost full: 4.9 GB free"
    assert str(settings.KILIT_VAR) in problem.cause


def test_a_small_disk_that_is_not_full_is_no_problem(disks, settings) -> None:
    disks |= {"total": 8 * GB, "free": 4 * GB}
    assert list(disk.find(SeesEverything())) == []

    disks |= {"total": 1000 * GB}
    settings.DISK_LOW_GB = 0
    assert list(disk.find(SeesEverything())) == []


def test_a_queue_of_which_many_jobs_fail_is_a_problem() -> None:
    site = make_site()
    make_conversions(site, well=FEWEST_ENDED - 20, badly=20)

    (problem,) = [each for each in find_problems(SeesEverything()) if each.kind == "failure-rate"]

    assert (problem.part, problem.title) == ("conversion", "Offline conversions: 40% failed in 24 hours")
    assert problem.cause == "20 of 50 jobs that ended"


@pytest.mark.parametrize(("well", "badly"), [(4, FEWEST_ENDED - 5), (FEWEST_ENDED, 5)])
def test_few_jobs_or_few_failures_are_no_rate(well: int, badly: int) -> None:
    make_conversions(make_site(), well=well, badly=badly)

    assert [each for each in find_problems(SeesEverything()) if each.kind == "failure-rate"] == []
