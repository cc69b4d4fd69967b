"""A job that people have cut in part can end: the rest is cancelled, given back and not charged."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation

from kilit.audit.run import audit
from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from kilit.sentences import translated
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job, StockItem
from orchestrator.optiplanning.solution import CutPattern
from orchestrator.workflow import half_cut, stock
from orchestrator.workflow.by_hand import cut_by_hand
from orchestrator.workflow.half_cut import first_boards
from tests.support.api import Api
from tests.support.cutting_jobs import error, make_job, page_of
from tests.support.cutting_runs import work_until
from tests.support.guarded_columns import write_unguarded
from tests.support.stock import HALF, RULES, in_state, kind_of_board, offcut, ordered, plan_quickly, stock_adds_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer", "shop")]
PRICES = {"currency": "TRY", "vatPercent": 20, "boardPerM2": {"*": 100}, "edgePerMetre": {"*": 10}, "perCut": 5}


@pytest.fixture
def shop(floor, rules_file, monkeypatch) -> None:
    """Lay out a shop with a store and prices, whose people cut."""
    rules_file.write_text(json.dumps({**json.loads(RULES), "prices": PRICES}))
    plan_quickly(monkeypatch)


def half_cut_job(boards: int, *, cut: int, **changes: Any) -> Job:
    """Return a job of so many boards, each with one part of 2000 x 1200 mm, of which some are cut."""
    job = work_until(ordered({**HALF, "quantity": boards, **changes}), "XML_READY")
    with acting_as("operator:ayse"):
        cut_by_hand(job.pk, boards=cut)
    return Job.objects.get(pk=job.pk)


def verbs(job: Job) -> list[str]:
    return [event.details["verb"] for event in Event.objects.of(job) if "verb" in event.details]


def test_the_rest_is_given_back_and_what_was_cut_is_booked_and_charged_by_its_share(api) -> None:
    kind = kind_of_board(6)
    job = half_cut_job(5, cut=2)
    whole = figures_of(job)

    answer = api.post(f"jobs/{job.pk}/cancel-rest", {"reason": "The customer called."}).json()["job"]

    assert (answer["state"], answer["error_code"], answer["boards_cut"]) == ("DONE", "E_CANCELLED", 2)
    assert answer["error_message"] == "2 of 5 boards were cut, the rest was cancelled: The customer called."
    assert in_state(board=kind) == {"AVAILABLE": 4, "USED": 2}
    assert StockItem.objects.filter(made_by=job).count() == 4, "two of each board that was cut"
    part = figures_of(Job.objects.get(pk=job.pk))
    assert (whole.amounts.lines[0].quantity, part.amounts.lines[0].quantity) == (Decimal("29.4"), Decimal("11.76"))
    sums = [sum(line.amount for line in figures.amounts.lines) for figures in (whole, part)]
    assert part.is_fixed
    assert (sums[1], sums[0]) == (part.amounts.net, whole.amounts.net)
    assert abs(sums[1] / sums[0] - Decimal("0.4")) < Decimal("0.002")
    assert verbs(job)[-1] == "cancel_rest"
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])
    with translation.override("tr"):
        turkish = translated(Job.objects.get(pk=job.pk).error_message)
    assert turkish == "5 plakanın 2 tanesi kesildi, kalanı iptal edildi: The customer called."


def test_a_price_that_was_missing_is_charged_later_for_what_was_cut(api, rules_file) -> None:
    kind_of_board(3)
    priced = json.loads(rules_file.read_text())
    rules_file.write_text(json.dumps({name: value for name, value in priced.items() if name != "prices"}))
    job = half_cut_job(3, cut=1)
    api.post(f"jobs/{job.pk}/cancel-rest", {"reason": "no"})
    assert figures_of(Job.objects.get(pk=job.pk)).amounts is None

    rules_file.write_text(json.dumps(priced))

    amounts = figures_of(Job.objects.get(pk=job.pk)).amounts
    assert (amounts.missing, amounts.lines[0].quantity) == ((), Decimal("5.88"))


def test_boards_that_were_counted_otherwise_than_planned_are_found_by_the_audit() -> None:
    kind_of_board(2)
    job = half_cut_job(2, cut=2)
    assert audit(full=True).breaches == []

    write_unguarded(Job.objects.filter(pk=job.pk), boards_cut=1)

    (breach,) = audit(full=True).breaches
    assert job.order_id in breach["details"]


def test_boards_that_came_late_and_offcuts_are_booked_as_far_as_they_were_cut(api) -> None:
    kind = kind_of_board(1)
    rest = offcut(2000, 1200)
    job = half_cut_job(4, cut=3)
    assert job.planning["stock"]["missing"] == [{"board": kind.pk, "number": 2}]
    assert rest.pk in job.stock.values_list("pk", flat=True)
    stock.receive(kind, 5, expected=1)
    api.post(f"jobs/{job.pk}/cancel-rest", {"reason": "no"})

    assert StockItem.objects.filter(job=job, status="USED").count() == 3
    assert not StockItem.objects.filter(status="RESERVED").exists()
    assert (stock_adds_up(), audit(full=True).breaches) == ([], [])


def test_a_plan_that_is_too_large_to_be_read_books_as_many_boards_as_were_cut(api, monkeypatch) -> None:
    kind = kind_of_board(3)
    job = half_cut_job(3, cut=1)
    monkeypatch.setattr(half_cut, "whole_patterns_of", lambda _job: [])

    api.post(f"jobs/{job.pk}/cancel-rest", {"reason": "no"})

    assert in_state(board=kind) == {"AVAILABLE": 2, "USED": 1}
    assert stock_adds_up() == []


def test_only_a_job_that_people_have_begun_is_ended_so_and_once(api, make_api) -> None:
    kind_of_board(3)
    uncut, job = work_until(ordered(HALF), "XML_READY"), half_cut_job(2, cut=1)
    new = make_job(opti_mode="D")

    answers = [api.post(f"jobs/{pk}/cancel-rest", {"reason": "x"}) for pk in (new.pk, uncut.pk, job.pk, job.pk)]
    viewer = make_api("viewer").post(f"jobs/{job.pk}/cancel-rest")

    assert [answer.status_code for answer in answers] == [409, 409, 200, 409]
    codes = [error(answer)["code"] for answer in (answers[0], answers[1], answers[3])]
    assert codes == ["MOVE_REFUSED", "NOTHING_CUT", "MOVE_REFUSED"]
    assert viewer.status_code == 403


def test_the_rest_is_cancelled_or_cut_but_not_both(transactional_db, make_api, in_threads) -> None:
    kind_of_board(3)
    job = half_cut_job(3, cut=1)
    key = make_api().headers["x-api-key"]

    def end(number: int) -> int:
        return Api(key, root="/").post(f"jobs/{job.pk}/{'cancel-rest' if number % 2 else 'cut-by-hand'}").status_code

    answers = in_threads(end, count=4)

    job.refresh_from_db()
    assert sorted(answers) == [200, 409, 409, 409]
    assert (job.boards_cut == 3) != (job.error_code == "E_CANCELLED")
    assert [verb for verb in verbs(job) if verb in ("finish_by_hand", "cancel_rest")] in (
        ["finish_by_hand"],
        ["cancel_rest"],
    )
    assert stock_adds_up() == []


def test_the_page_offers_it_with_a_reason_and_says_how_it_ended(make_person) -> None:
    kind_of_board(2)
    job, operator = half_cut_job(2, cut=1), make_person(role="operator")
    assert "Cancel the rest" in page_of(operator, job).text
    sent = {"ids": str(job.pk), "from_row": "1"}

    operator.post("/admin/orchestrator/job/act/cancel_rest/", {**sent, "reason": ""})
    assert Job.objects.get(pk=job.pk).status == "DELIVERED"
    operator.post("/admin/orchestrator/job/act/cancel_rest/", {**sent, "reason": "He moves abroad."})

    shown = page_of(operator, job).text
    assert "1 of 2 boards were cut, the rest was cancelled: He moves abroad." in shown
    assert "Rest cancelled by" in shown
    assert "Retry" not in shown
    assert Event.objects.of(job).last().message == "He moves abroad."


def test_the_first_boards_of_a_plan_are_taken_also_from_the_middle_of_a_pattern() -> None:
    patterns = [CutPattern(2800, 2100, 2), CutPattern(2440, 1830, 3), CutPattern(2070, 2800, 1)]

    taken = [(pattern.length, pattern.boards) for pattern in first_boards(patterns, 4)]

    assert taken == [(2800, 2), (2440, 2)]
