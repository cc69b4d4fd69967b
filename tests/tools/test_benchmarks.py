"""Benchmarks start, and leave no row that would burden the next one."""

from dataclasses import replace

import pytest

from orchestrator.models import Job
from tests.tools.benchmarks import floor
from tests.tools.benchmarks.harness import measure_all


@pytest.mark.django_db(transaction=True)
def test_the_sheets_of_a_factory_are_measured(monkeypatch) -> None:
    monkeypatch.setattr(floor, "PARTS", 5)

    results = dict(measure_all([replace(floor.FIGURES[0], rounds=1, warm=False)]))

    assert {name: result.get("error") for name, result in results.items()} == {"xlsx": None}


@pytest.mark.django_db(transaction=True)
def test_a_figure_that_fails_leaves_nothing_due() -> None:
    figure = floor.FIGURES[0]

    def fail() -> float:
        floor.order(1, "C")
        raise RuntimeError

    results = dict(measure_all([replace(figure, ours=fail, other=None, warm=False)]))

    assert "error" in results["xlsx"]
    assert not Job.objects.claimable().exists()
