"""A job's figures where people and programs see them: fixed at the end, and by the rules in force before."""

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from orchestrator.models import Job
from orchestrator.workflow.steps import finish
from tests.support.api import Api
from tests.support.cutting_jobs import CUTTING_JOBS, error, make_job

pytestmark = pytest.mark.django_db

PRICES = {"currency": "TRY", "vatPercent": 20, "boardPerM2": {"*": 400}, "edgePerMetre": {"*": 10}, "wastePercent": 10}
SOLUTION = {"boards_m2": "5.88", "drops_m2": "4.46", "cuts": 31, "time_s": "754.5"}


@pytest.fixture
def rules(rules_file: Path, settings: Any, tmp_path: Path) -> Path:
    """Write prices; no plan of another test is kept."""
    settings.KILIT_VAR = tmp_path / "var"
    write_prices(rules_file, PRICES)
    return rules_file


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


def test_a_job_finished_before_figures_were_stored_has_those_of_the_rules_in_force(api, rules) -> None:
    job = delivered()
    job.finish()

    found = figures_by_api(api, job)

    assert (found["is_fixed"], found["amounts"]["currency"]) == (False, "TRY")
    write_prices(rules, None)
    assert figures_by_api(api, job)["amounts"] is None


def test_a_job_finished_while_a_price_was_missing_gets_its_amount_when_there_is_one(api, rules) -> None:
    write_prices(rules, PRICES | {"boardPerM2": {"MAT-01": 400}})
    job = delivered()
    finish(job, lambda: None)
    assert figures_by_api(api, job)["amounts"]["net"] is None

    write_prices(rules, PRICES)

    found = figures_by_api(api, job)
    assert (found["is_fixed"], found["amounts"]["net"]) == (False, "2408.20")


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


def finished(at: str, **columns: Any) -> Job:
    """Return a job that was finished at a time; its figures are stored."""
    job = delivered()
    finish(job, lambda: None)
    Job.objects.filter(pk=job.pk).update(finished_at=datetime.fromisoformat(at), **columns)
    job.refresh_from_db()
    return job


def read(answer: Any, delimiter: str = ",") -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(StringIO(text), delimiter=delimiter))


def test_the_file_has_the_jobs_of_a_time_span_with_fixed_amounts(make_api, rules) -> None:
    finished("2026-10-31T23:59:59Z")
    job = finished("2026-11-01T00:00:00Z")
    finished("2026-12-01T00:00:00Z")
    write_prices(rules, None)

    (row,) = read(
        make_api("viewer").get("jobs/figures.csv", **{"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z"})
    )

    assert (row["jobId"], row["finishedAt"]) == (str(job.pk), "2026-11-01T00:00:00+00:00")
    assert (row["pieces"], row["partsM2"], row["boardsM2"], row["offcutsM2"]) == ("3", "1.415", "5.880", "4.460")
    assert (row["yieldPercent"], row["cuts"], row["machineMinutes"]) == ("24.1", "31", "12.575")  # 1.415 / 5.88
    assert (row["edgeMetres"], row["edges"]) == ("5.620", "040: 0.800 m, 1mm: 4.820 m")
    assert (row["currency"], row["net"], row["vat"], row["gross"]) == ("TRY", "2408.20", "481.64", "2889.84")
    assert (row["prices"], row["missing"]) == ("fixed", "")


def test_the_file_says_which_amounts_are_by_todays_prices_and_what_is_missing(api, rules) -> None:
    finished("2026-11-02T10:00:00Z", figures=None)
    write_prices(rules, PRICES | {"boardPerM2": {"MAT-01": 400}})

    (row,) = read(api.get("jobs/figures.csv", **{"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z"}))

    assert (row["prices"], row["net"], row["gross"]) == ("today", "", "")
    assert row["missing"] == "The rules have no price for boardPerM2 MAT-02."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "from: This field is required"),
        ({"from": "2026-11-01", "to": "2026-12-01T00:00:00Z"}, "from: Expected a time with an offset"),
        ({"from": "2026-11-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"}, "`from` must be before `to`."),
    ],
)
def test_a_span_that_is_none_is_refused(api, query: dict[str, str], message: str) -> None:
    refused = api.get("jobs/figures.csv", **query)

    assert refused.status_code == 400
    assert message in error(refused)["message"]


def test_days_of_the_console_are_the_readers_and_numbers_are_written_as_excel_reads_them(make_person, rules) -> None:
    finished("2026-10-31T20:59:59Z", customer_snapshot_name="October")
    finished("2026-10-31T21:00:00Z", customer_snapshot_name="=1+1")  # midnight in Istanbul
    finished("2026-11-30T21:00:00Z", customer_snapshot_name="December")
    client = make_person(role="viewer")
    client.cookies.load({"kilit_zone": "Europe/Istanbul", "django_language": "tr"})
    address = reverse("admin:orchestrator_job_figures_file")

    asked = client.get(address)
    answer = client.post(address, {"first": "2026-11-01", "last": "2026-11-30"})

    assert 'type="date"' in asked.text
    (row,) = read(answer, delimiter=";")
    assert (row["customer"], row["finishedAt"]) == ("'=1+1", "2026-11-01T00:00:00+03:00")
    assert (row["partsM2"], row["gross"]) == ("1,415", "2889,84")
    assert client.post(address, {"first": "2026-11-02", "last": "2026-11-01"}).status_code == 200


def test_jobs_of_a_span_are_found_by_the_index(rules, sql) -> None:
    sql("SET LOCAL enable_seqscan = off")  # of a few rows PostgreSQL may as well read all
    span = Job.objects.finished_between(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))

    assert "job_finished" in span.explain()


def test_the_page_shows_figures_amounts_and_that_they_are_fixed(make_person, rules) -> None:
    job = finished("2026-11-02T10:00:00Z")

    shown = make_person(role="viewer").get(reverse("admin:orchestrator_job_change", args=[job.pk]))

    card = shown.context["figures_card"]
    assert ("Edge band", "040: 0.8 m · 1mm: 4.82 m") in card["facts"]
    assert ("Yield", "24.1 % of the boards become parts") in card["facts"]
    assert card["lines"][0] == ("Boards MAT-01 18 mm", "4.006 m²", "400 TRY", "1,602.40 TRY")
    assert card["totals"] == [("Net", "2,408.20 TRY"), ("VAT 20 %", "481.64 TRY"), ("Total with VAT", "2,889.84 TRY")]
    assert "Fixed when the job was finished" in shown.text


def test_the_page_names_the_missing_price_instead_of_a_total(make_person, rules) -> None:
    write_prices(rules, PRICES | {"edgePerMetre": {"1mm": 12}})

    shown = make_person(role="viewer").get(reverse("admin:orchestrator_job_change", args=[make_job().pk]))

    assert shown.context["figures_card"]["totals"] == []
    assert "The rules have no price for edgePerMetre 040." in shown.text
    assert "Estimate: the area of the parts and 10 % waste" in shown.text


def test_the_rules_are_shown_with_their_prices(make_person, rules) -> None:
    shown = make_person(role="viewer").get(reverse("admin:orchestrator_rulesversion_changelist"))

    (prices,) = [section for section in shown.context["sections"] if section["name"] == "prices"]
    assert prices["values"] == ["VAT 20 %", "* → 400 TRY/m²", "* → 10 TRY/m", "waste in estimates: 10 %"]
