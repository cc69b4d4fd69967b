"""One price for an order wherever it stands: estimate, offer, job, invoice, the bookkeeper's file, and a second sum."""

import csv
import json
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.utils import timezone

from config.papers.content import PaperRequest, paper_request
from kilit.audit.run import audit
from orchestrator.models import Customer, Job
from orchestrator.workflow.by_hand import cut_by_hand
from orchestrator.workflow.half_cut import cancel_rest
from tests.support import second_amounts
from tests.support.cutting_jobs import GOVDE
from tests.support.cutting_rules import COMPANY, PRICES
from tests.support.cutting_runs import work_until
from tests.support.stock import RULES, in_state, offcut, ordered, plan_quickly

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer", "floor", "shop", "optimiser")]
BOARDS = {"MAT-01 18mm": 450, "MAT-01 5mm": 120.25, "MAT-02": 333.3333}
ALL_PRICES = {**PRICES, "boardPerM2": BOARDS, "perCut": 1.15, "perMachineMinute": 7.5}
SIDE = {**GOVDE, "length_cm": 70, "width_cm": 50, "quantity": 2}
SHELF = {**GOVDE, "id": "s1", "length_cm": 60, "width_cm": 40, "quantity": 2, "color": "Antrasit", "edge_up": "2mm"}
BACK = {**GOVDE, "id": "b1", "length_cm": 118, "width_cm": 38.25, "quantity": 3, "thickness_mm": 5}
DOOR = {**GOVDE, "id": "d1", "material_code": "MAT-02", "length_cm": 33.333, "width_cm": 22.225, "quantity": 7}
PARTS = [SIDE, SHELF, BACK, DOOR]


@pytest.fixture
def shop(settings: Any, tmp_path: Any, monkeypatch: Any) -> None:
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(json.dumps({**json.loads(RULES), "prices": ALL_PRICES, "company": COMPANY}))
    plan_quickly(monkeypatch)


def planned() -> Job:
    Customer.objects.update(address="Ulus 1, Ankara")
    return work_until(ordered(*PARTS), "XML_READY")


def done(job: Job) -> Job:
    cut_by_hand(job.pk, by="Mehmet")
    return Job.objects.get(pk=job.pk)


def by_api(api: Any, job: Job) -> dict[str, Any]:
    figures: dict[str, Any] = api.get(f"jobs/{job.pk}").json()["job"]["figures"]
    return figures


def totals_on(kind: Any, job: Job) -> dict[str, str]:
    """Add up the lines of a paper as its reader would."""
    made = paper_request(job, kind, PaperRequest())
    shown = made.document.shape(made.document.model.read(made.variables))
    lines = [Decimal(line["quantity"]) * Decimal(line["unit_price"]) for line in made.variables["lines"]]
    net = sum((second_amounts.to("0.01", line) for line in lines), Decimal(0))
    assert in_kurus(shown["net"]) == net
    return {"net": str(net), "gross": str(in_kurus(shown["total"]))}


def in_kurus(printed: str) -> Decimal:
    return Decimal(printed.strip("₺").replace(".", "").replace(",", "."))


def test_an_order_has_one_price_on_every_paper_and_in_every_answer(make_api) -> None:
    api, job = make_api(), planned()
    body = {**job.payload, "parts": PARTS}

    answer = api.post("jobs/estimate", body).json()
    offer, before = totals_on("offer", job), by_api(api, job)["amounts"]
    job = done(job)
    invoice, after = totals_on("invoice", job), by_api(api, job)
    day = timezone.now().date()
    file = api.get("jobs/figures.csv", **{"from": f"{day}T00:00:00Z", "to": "2099-01-01T00:00:00Z"})
    (row,) = csv.DictReader(StringIO(b"".join(file.streaming_content).decode("utf-8-sig")))

    boards = sum(pattern["boards"] for pattern in answer["patterns"])
    cuts = answer["figures"]["cuts"]
    minutes = Decimal(60 * boards + 10 * cuts) / 60
    second = second_amounts.amounts(body, answer["patterns"], ALL_PRICES, cuts=cuts, minutes=minutes)
    expected = {name: str(amount) for name, amount in second.items()}
    short = {name: expected[name] for name in ("net", "gross")}
    assert {name: answer["figures"]["amounts"][name] for name in expected} == expected
    assert {name: before[name] for name in expected} == expected
    assert {name: after["amounts"][name] for name in expected} == expected
    assert {name: row[name] for name in expected} == expected
    assert (offer, invoice) == (short, short)
    assert after["is_fixed"]
    assert audit(full=True).breaches == []


def test_offcuts_in_stock_do_not_change_the_price(make_api) -> None:
    api = make_api()
    plain = by_api(api, done(planned()))
    for thickness, color in ((18, "Beyaz"), (5, "Beyaz"), (18, "Antrasit")):
        offcut(1500, 1000, thickness_mm=thickness, color=color)

    estimate = api.post("jobs/estimate", {**Job.objects.get().payload, "parts": PARTS}).json()["figures"]
    job = planned()
    offer = totals_on("offer", job)
    job = done(job)
    thrifty = by_api(api, job)

    assert in_state(board=None, job=job)["USED"] >= 3
    assert thrifty["amounts"] == plain["amounts"]
    assert (
        estimate["amounts"]["gross"]
        == offer["gross"]
        == totals_on("invoice", job)["gross"]
        == plain["amounts"]["gross"]
    )
    # What is cut is less than what is charged, and both are said.
    assert Decimal(thrifty["boards_m2"]) < Decimal(thrifty["charged"]["boards_m2"]) == Decimal(plain["boards_m2"])
    assert audit(full=True).breaches == []


def test_a_job_that_is_cut_in_part_is_charged_its_share_of_the_plan_without_the_store(make_api) -> None:
    api = make_api()
    offcut(1500, 1000)
    job = planned()
    whole, boards = by_api(api, job), job.planning["boards"]
    cut_by_hand(job.pk, by="Mehmet", boards=1)

    part = by_api(api, cancel_rest(job.pk))

    assert part["charged"]["cuts"] == int(Decimal(whole["charged"]["cuts"]) / boards + Decimal("0.5"))
    lines = {line["kind"]: line["quantity"] for line in part["amounts"]["lines"]}
    assert lines["cuts"] == str(part["charged"]["cuts"])
    assert lines["machine"] == part["charged"]["machine_minutes"]
    assert audit(full=True).breaches == []


def test_amounts_that_do_not_add_up_have_no_total_and_are_found_by_the_audit(make_api, monkeypatch) -> None:
    api, job = make_api(), planned()
    solution = {**job.solution, "boards_by_material": {**job.solution["boards_by_material"], "MAT-01 5 mm": "1"}}
    Job.objects.filter(pk=job.pk).update(solution=solution)

    amounts = by_api(api, job)["amounts"]

    assert (amounts["net"], amounts["gross"]) == (None, None)
    assert amounts["missing"][0]["message"].startswith("The amounts do not add up: ")


def test_the_audit_names_jobs_whose_amounts_do_not_add_up() -> None:
    job = done(planned())
    figures = {**job.figures, "amounts": {**job.figures["amounts"], "net": "1.00"}}
    Job.objects.filter(pk=job.pk).update(figures=figures)

    (breach,) = audit(full=True).breaches

    assert breach["queue"] == "cutting_job"
    assert job.order_id in breach["details"]
    assert "AMOUNTS_DIFFER" in breach["details"]
