"""Estimates: what an order needs and costs by a plan, in the API, in the order form, and beside a solution."""

import json

import pytest
from django.urls import reverse

from orchestrator.cutting import estimates, places, solving
from orchestrator.models import Job
from tests.support.cutting_jobs import GOVDE, error, make_job, order_body
from tests.support.cutting_rules import PRICES, SHIPPED
from tests.support.drafts import make_draft, page_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(bool(solving.missing()), reason="there is no wheel of the solver for this Python"),
]


@pytest.fixture(autouse=True)
def own_places(settings, tmp_path) -> None:
    settings.KILIT_VAR, settings.OPTIMISERS = tmp_path, 1
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(json.dumps({**SHIPPED, "prices": PRICES}))


def test_an_order_is_estimated_and_not_stored(api) -> None:
    answer = api.post("jobs/estimate", order_body(parts=[{**GOVDE, "quantity": 8}]))

    assert answer.status_code == 200
    body = answer.json()
    assert (body["boards"], body["boards_at_least"], body["is_optimal"]) == (1, 1, True)
    assert body["figures"]["boards_m2"] == "5.880"
    assert body["figures"]["amounts"]["basis"] == "plan"
    assert body["figures"]["amounts"]["gross"] is not None
    (board,) = body["patterns"]
    assert (board["material_code"], board["length"], board["width"]) == ("MAT-01", 2800, 2100)
    assert [part["part_id"] for part in board["parts"]] == ["g1"] * 8
    assert not Job.objects.exists()


def test_the_same_order_is_planned_once(api, monkeypatch) -> None:
    first = api.post("jobs/estimate", order_body()).json()
    monkeypatch.setattr(estimates, "solve", None)

    assert api.post("jobs/estimate", order_body()).json() == first


def test_only_the_newest_plans_are_kept(api, settings, monkeypatch) -> None:
    monkeypatch.setattr(estimates, "MOST_KEPT", 2)
    for length in (100, 101, 102):
        api.post("jobs/estimate", order_body(parts=[{**GOVDE, "length_cm": length}]))

    assert len(list((settings.KILIT_VAR / "optimisers").glob("*.json"))) == 2


def test_a_busy_machine_asks_to_try_again(api) -> None:
    with places.place(0):
        answer = api.post("jobs/estimate", order_body())

    assert (answer.status_code, error(answer)["code"]) == (503, "OPTIMISER_BUSY")
    assert answer["Retry-After"] == "5"


def test_without_the_optimiser_the_api_says_why(api, monkeypatch) -> None:
    monkeypatch.setattr(solving, "ENGINE", "no_such_solver")

    answer = api.post("jobs/estimate", order_body())

    assert (answer.status_code, error(answer)["code"]) == (501, "NO_OPTIMISER")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"quantity": 9_999}, "pieces; the built-in optimiser plans at most"),
        ({"length_cm": 300}, "larger than the plate"),
    ],
)
def test_what_cannot_be_planned_is_refused(api, part, message) -> None:
    parts = [{**GOVDE, **part, "id": f"p{number}"} for number in range(3)]

    answer = api.post("jobs/estimate", order_body(parts=parts))

    refused = error(answer)
    assert (answer.status_code, refused["code"]) == (422, "E_VALIDATION")
    assert message in refused["message"]


def test_the_order_form_shows_boards_plan_and_price(make_person) -> None:
    operator, draft = make_person(), make_draft()
    check = f"{page_of(draft.pk)}?checked=1"

    assert "Estimate boards and price" in operator.get(check).text
    shown = operator.get(f"{check}&estimate=1").text

    assert "By a plan with 1 board; no plan takes fewer." in shown
    assert 'class="kilit-board"' in shown
    assert "Estimate with VAT" in shown


def test_the_order_form_says_why_there_are_no_estimates(make_person, monkeypatch) -> None:
    monkeypatch.setattr(solving, "ENGINE", "no_such_solver")

    shown = make_person().get(f"{page_of(make_draft().pk)}?checked=1&estimate=1").text

    assert "The built-in optimiser" in shown
    assert "Estimate boards and price" not in shown


def test_the_estimate_of_a_job_stands_beside_its_solution(make_person) -> None:
    job = make_job()
    address = reverse("admin:orchestrator_job_estimate", args=[job.pk])
    operator = make_person()

    assert address in operator.get(reverse("admin:orchestrator_job_change", args=[job.pk])).text
    shown = operator.get(address)

    assert [title for title, _ in shown.context["estimate"]["plan"].rows] == ["Estimate"]
    again = operator.get(reverse("admin:orchestrator_job_change", args=[job.pk])).text
    assert "Estimate: by a plan of the built-in optimiser." in again
    assert make_person("can", role="viewer").get(address).status_code == 403
