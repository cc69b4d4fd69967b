"""A job's figures where people and programs see them: fixed at the end, and by the rules in force before."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from orchestrator.models import Job
from orchestrator.workflow.steps import finish
from tests.support.cutting_jobs import CUTTING_JOBS, Api, make_job

pytestmark = pytest.mark.django_db

PRICES = {"currency": "TRY", "vatPercent": 20, "boardPerM2": {"*": 400}, "edgePerMetre": {"*": 10}, "wastePercent": 10}
SOLUTION = {"boards_m2": "5.88", "drops_m2": "4.46", "cuts": 31, "time_s": "754.5"}


@pytest.fixture
def rules(settings, tmp_path: Path) -> Path:
    settings.OPTI_RULES = Path(shutil.copy(settings.OPTI_RULES, tmp_path / "rules.json"))
    write_prices(settings.OPTI_RULES, PRICES)
    return settings.OPTI_RULES


def write_prices(rules: Path, prices: dict[str, Any] | None) -> None:
    rules.write_text(json.dumps(json.loads(rules.read_text()) | {"prices": prices}))


def delivered() -> Job:
    """Return a job that the saw has taken, in the hands of a runner."""
    job = CUTTING_JOBS.row_in("DELIVERED")
    Job.objects.filter(pk=job.pk).update(payload=make_job().payload, solution=SOLUTION)
    return Job.objects.filter(pk=job.pk).lease_next(order=("id",))  # type: ignore[return-value]


def figures_by_api(api: Api, job: Job) -> Any:
    return api.get(f"jobs/{job.pk}").json()["job"]["figures"]


def test_a_finished_job_keeps_its_amounts_when_prices_change(api, rules) -> None:
    job = delivered()
    before = figures_by_api(api, job)

    finish(job, lambda: None)
    write_prices(rules, PRICES | {"boardPerM2": {"*": 999}})

    after = figures_by_api(api, job)
    assert before["is_fixed"] is False
    assert after == before | {"is_fixed": True}
    # Parts: 1.205 × 0.4 × 2 = 0.964 m² and 1.18 × 0.3825 = 0.451 m²; boards: 5.88 × 0.964 / 1.415 = 4.006 and the rest
    # 1mm: 1.205 × 2 × 2 = 4.82 m; 040: 0.4 × 2 = 0.8 m
    lines = [(line["name"], line["quantity"], line["amount"]) for line in after["amounts"]["lines"]]
    assert lines == [
        ("MAT-01 18 mm", "4.006", "1602.40"),
        ("MAT-02 5 mm", "1.874", "749.60"),
        ("040", "0.800", "8.00"),
        ("1mm", "4.820", "48.20"),
    ]
    totals = [after["amounts"][name] for name in ("net", "vat", "gross")]
    assert totals == ["2408.20", "481.64", "2889.84"]


def test_a_job_finished_before_amounts_were_kept_has_those_of_the_rules_in_force(api, rules) -> None:
    job = delivered()
    job.finish()

    found = figures_by_api(api, job)

    assert (found["is_fixed"], found["amounts"]["currency"]) == (False, "TRY")
    write_prices(rules, None)
    assert figures_by_api(api, job)["amounts"] is None


def test_a_job_is_finished_without_valid_rules(api, rules) -> None:
    job = delivered()
    rules.write_text("no rules")

    finish(job, lambda: None)

    job.refresh_from_db()
    assert (job.status, job.figures) == ("DONE", None)
    assert figures_by_api(api, job) is None


def test_before_there_is_a_solution_the_amounts_are_an_estimate(api, rules) -> None:
    found = figures_by_api(api, make_job())

    assert found["amounts"]["basis"] == "estimate"
    assert found["amounts"]["waste_percent"] == "10"
    assert found["boards_m2"] is None
