"""In a shop without a saw, people say what they have cut; where there is a saw, only the saw does."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from kilit.audit.run import audit
from kilit.lock.models import Event
from orchestrator.figures.export import export_lines
from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.optiplanning import solution
from orchestrator.workflow import decisions
from orchestrator.workflow.by_hand import boards_of, cut_by_hand
from orchestrator.workflow.runner import tick
from tests.support.api import Api
from tests.support.cutting_jobs import CUTTING_JOBS, GOVDE, error, make_job, page_of
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import due_again, player, work_until
from tests.support.stock import RULES, in_state, kind_of_board, plan_quickly

pytestmark = pytest.mark.django_db
# On several boards: each takes a plate.
LARGE = {**GOVDE, "length_cm": 200, "width_cm": 150, "quantity": 3}


@pytest.fixture
def shop(floor, rules_file, customer, at_rest_at_once) -> Folders:
    """Lay out a shop whose rules say that people cut."""
    rules_file.write_text(json.dumps({**SHIPPED, "cutBy": "hand"}))
    return floor


@pytest.fixture
def ready(shop) -> Job:
    return planned(shop, parts=[LARGE])


def planned(floor: Folders, **order: Any) -> Job:
    """Let the simulator play OptiPlanning, and its operator start it."""
    job = work_until(make_job(opti_mode="C", **order), "HOLD")
    decisions.approve(job.pk)
    return work_until(job, "XML_READY", machines=player(floor, only="opti"))


def verbs(job: Job) -> list[str]:
    return [event.details["verb"] for event in Event.objects.of(job) if "verb" in event.details]


def test_the_page_says_who_has_cut_and_nothing_of_a_saw_that_never_had_it(ready, make_person) -> None:
    cut_by_hand(ready.pk, by="Veli")
    ready.refresh_from_db()

    shown = page_of(make_person(), ready).text

    assert ready.handed_at
    assert "Handed to the saw at" not in shown
    assert "Cut by" in shown
    Job.objects.filter(pk=(other := make_job(order_id="S-2")).pk).update(handed_at=timezone.now())
    assert "Handed to the saw at" in page_of(make_person("other"), other).text


def test_a_plan_waits_for_people_and_the_saw_gets_nothing(ready, shop) -> None:
    due_again(ready)

    assert tick(patient=True) == 0

    ready.refresh_from_db()
    assert (ready.by_hand, ready.status, ready.claim_token) == (True, "XML_READY", None)
    assert list(shop.inbox.iterdir()) == []
    assert not Job.objects.due().exists()


def test_an_operator_says_that_it_was_cut_and_the_job_is_done(ready, api) -> None:
    answer = api.post(f"jobs/{ready.pk}/cut-by-hand", {"by": "Mehmet", "reason": "night shift"}).json()["job"]

    ready.refresh_from_db()
    assert (answer["state"], answer["cut_by"], answer["boards_cut"]) == ("DONE", "Mehmet", 3)
    assert ready.figures
    assert ready.finished_at
    assert ready.cut_at
    assert verbs(ready)[-2:] == ["cut_by_hand", "finish_by_hand"]
    done = Event.objects.of(ready).last()
    assert (done.message, done.actor) == ("night shift", "key:service-operator:test")
    assert str(ready.pk) in "".join(export_lines(Job.objects.filter(finished_at__isnull=False)))


def test_boards_are_recorded_as_they_are_cut(ready, api) -> None:
    yesterday = timezone.now() - timedelta(seconds=30)
    first = api.post(f"jobs/{ready.pk}/cut-by-hand", {"by": "Mehmet", "boards": 1, "at": yesterday.isoformat()})
    again = api.post(f"jobs/{ready.pk}/cut-by-hand", {"by": "Mehmet", "boards": 1})
    second = api.post(f"jobs/{ready.pk}/cut-by-hand", {"by": "Ayşe", "boards": 2})
    fewer = api.post(f"jobs/{ready.pk}/cut-by-hand", {"boards": 1})
    last = api.post(f"jobs/{ready.pk}/cut-by-hand", {})

    states = [answer.json()["job"]["state"] for answer in (first, again, second, last)]
    assert states == ["DELIVERED", "DELIVERED", "DELIVERED", "DONE"]
    assert (fewer.status_code, error(fewer)["code"]) == (422, "E_VALIDATION")
    cut = Event.objects.of(ready).filter(event_type="BOARDS_CUT").order_by("id")
    people = [(event.details["boards"], event.details["by"]) for event in cut]
    assert people == [(1, "Mehmet"), (2, "Ayşe"), (3, "the API key test of service-operator")]


@pytest.mark.parametrize(
    "body",
    [
        {"boards": 4},
        {"boards": 0},
        {"boards": -1},
        {"boards": "x"},
        {"boards": True},
        {"by": "x" * 101},
        {"at": "2031-01-01T00:00:00Z"},
        {"at": "2020-01-01T00:00:00Z"},
        {"at": "yesterday"},
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(ready, api, body) -> None:
    answer = api.post(f"jobs/{ready.pk}/cut-by-hand", body)

    ready.refresh_from_db()
    assert answer.status_code in (400, 422)
    assert (ready.status, ready.boards_cut, ready.cut_by) == ("XML_READY", 0, "")


def test_a_job_of_the_saw_is_refused_in_every_state(api) -> None:
    for state in ("NEW", "PREPARED", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE", "HOLD", "FAILED"):
        job = CUTTING_JOBS.row_in(state)

        answer = api.post(f"jobs/{job.pk}/cut-by-hand")

        job.refresh_from_db()
        with_the_saw = state in ("XML_READY", "DELIVERED")
        assert (answer.status_code, error(answer)["code"]) == (409, "HAS_A_SAW" if with_the_saw else "MOVE_REFUSED")
        assert job.status == state


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        ("XML_READY", "by_hand = true"),
        ("XML_READY", "cut_by = 'psql'"),
        ("XML_READY", "status = 'DELIVERED', handed_at = now(), by_hand = true, cut_by = 'x', boards_cut = 1"),
        ("DELIVERED", "by_hand = true, cut_by = 'psql', cut_at = now(), boards_cut = 1"),
        ("DONE", "cut_by = 'psql', cut_at = now(), boards_cut = 1"),
    ],
)
def test_the_database_keeps_a_job_of_the_saw_from_people(state, changes) -> None:
    job = CUTTING_JOBS.row_in(state)

    with pytest.raises(IntegrityError):
        CUTTING_JOBS.write(job, changes)


def test_the_database_keeps_what_people_said(ready, api) -> None:
    for unsaid in ("status = 'DELIVERED', handed_at = now()", "by_hand = false", "open_deliveries = '[\"x\"]'"):
        with pytest.raises(IntegrityError):
            CUTTING_JOBS.write(ready, unsaid)
    api.post(f"jobs/{ready.pk}/cut-by-hand", {"boards": 2})
    with pytest.raises(IntegrityError):
        CUTTING_JOBS.write(ready, "boards_cut = 1")
    api.post(f"jobs/{ready.pk}/cut-by-hand")

    with pytest.raises(IntegrityError):
        CUTTING_JOBS.write(ready, "cut_by = 'another'")


def test_a_job_is_cancelled_before_its_first_board_and_planned_again_after_a_retry(ready, api) -> None:
    assert api.post(f"jobs/{ready.pk}/cancel", {"reason": "The customer called."}).status_code == 200
    ready.refresh_from_db()
    assert (ready.status, ready.error_code) == ("FAILED", "E_CANCELLED")

    assert api.post(f"jobs/{ready.pk}/retry").status_code == 200
    due_again(ready)
    work_until(ready, "XML_READY")

    assert ready.by_hand
    api.post(f"jobs/{ready.pk}/cut-by-hand", {"boards": 1})
    refused = api.post(f"jobs/{ready.pk}/cancel")
    assert (refused.status_code, error(refused)["code"]) == (409, "MOVE_REFUSED")


@pytest.mark.usefixtures("customer", "at_rest_at_once")
def test_what_the_saw_may_have_stays_with_the_saw_when_the_rules_change(floor, rules_file, api) -> None:
    job = planned(floor)
    rules_file.write_text(json.dumps({**SHIPPED, "cutBy": "hand"}))

    assert error(api.post(f"jobs/{job.pk}/cut-by-hand"))["code"] == "HAS_A_SAW"
    due_again(job)
    assert work_until(job, "DONE", machines=player(floor, only="saw")).by_hand is False


@pytest.mark.parametrize("boards", [None, 1])
def test_a_click_repeated_by_eight_threads_counts_once(transactional_db, ready, make_api, in_threads, boards) -> None:
    key, body = make_api().headers["x-api-key"], {"boards": boards} if boards else {}

    answers = in_threads(lambda _: Api(key, root="/").post(f"jobs/{ready.pk}/cut-by-hand", body).status_code, count=8)

    assert sorted(answers) == ([200] * 8 if boards else [200] + [409] * 7)
    assert Event.objects.of(ready).filter(event_type="BOARDS_CUT").count() == 1
    assert verbs(ready).count("cut_by_hand") == 1


def test_cut_and_cancelled_at_once_is_one_of_both(transactional_db, ready, make_api, in_threads) -> None:
    key = make_api().headers["x-api-key"]

    answers = in_threads(
        lambda n: Api(key, root="/").post(f"jobs/{ready.pk}/{'cancel' if n % 2 else 'cut-by-hand'}").status_code,
        count=8,
    )

    ready.refresh_from_db()
    assert answers.count(200) == 1
    assert ready.status in ("DONE", "FAILED")
    assert (ready.boards_cut == 3) == (ready.status == "DONE")


def test_the_audit_accepts_it(ready, api) -> None:
    api.post(f"jobs/{ready.pk}/cut-by-hand", {"boards": 2})
    api.post(f"jobs/{ready.pk}/cut-by-hand")

    assert audit(full=True).breach_count == 0


def test_a_viewer_reads_it_and_records_nothing(ready, make_api) -> None:
    viewer = make_api("viewer")

    assert viewer.post(f"jobs/{ready.pk}/cut-by-hand").status_code == 403
    assert viewer.get(f"jobs/{ready.pk}").json()["job"]["by_hand"] is True


def test_the_page_says_what_to_do_and_the_form_records_it(ready, make_person) -> None:
    operator = make_person(role="operator")

    page = page_of(operator, ready).text
    assert "The plan is ready: 3 boards. Cut them, then record it here." in page
    form = operator.get(f"/admin/orchestrator/job/{ready.pk}/cut-by-hand/")
    assert all(text in form.text for text in ("Who cut it", "Boards cut so far", "Of 3."))
    sent = {"ids": str(ready.pk), "from_row": "1", "cut_by": "Mehmet", "boards": "2", "reason": ""}
    operator.post("/admin/orchestrator/job/act/cut_by_hand/", sent)
    assert "Boards cut so far: 2 of 3." in page_of(operator, ready).text
    operator.post("/admin/orchestrator/job/act/finish_by_hand/", {**sent, "boards": ""})

    ready.refresh_from_db()
    assert (ready.status, ready.cut_by, ready.boards_cut) == ("DONE", "Mehmet", 3)
    assert "Done: cut by hand." in page_of(operator, ready).text


def test_a_plan_with_more_patterns_than_are_drawn_ends_with_its_last_board(shop, rules_file, api, monkeypatch) -> None:
    rules_file.write_text(RULES)
    plan_quickly(monkeypatch)
    kind = kind_of_board(70)
    parts = [{**LARGE, "id": f"p{n}", "length_cm": 200 + n / 10, "quantity": 1} for n in range(70)]
    job = work_until(make_job(opti_mode="D", parts=parts), "XML_READY")

    begun = api.post(f"jobs/{job.pk}/cut-by-hand", {"boards": 1}).json()["job"]
    last = api.post(f"jobs/{job.pk}/cut-by-hand").json()["job"]

    assert (begun["state"], last["state"]) == ("DELIVERED", "DONE")
    assert last["boards_cut"] == job.planning["boards"] == 70
    assert in_state(board=kind) == {"USED": 70}


@pytest.mark.parametrize("more", ["pieces", "bytes"])
def test_boards_of_a_file_are_counted_however_much_is_on_them(ready, more, monkeypatch) -> None:
    part = '<Part name="g1" x="0" y="0" length="9" width="9"/>'
    pattern = f'<Pattern length="2800" width="2100" boards="149">{part * 1_100}</Pattern>'
    content = f'<Solution best="1">{pattern * 3}<Pattern boards="1" length="?"/></Solution>'.encode()
    monkeypatch.setattr(solution, "BIGGEST_DRAWN", 1_000 if more == "bytes" else 10**6)
    ready.solution_files.update(content=content, sha256=more * 10)

    boards = boards_of(ready)

    assert boards == 448


def test_one_board_is_not_called_boards(shop, make_person) -> None:
    job = planned(shop, parts=[{**LARGE, "quantity": 1}])

    page = page_of(make_person(), job).text

    assert "The plan is ready: 1 board. Cut it, then record it here." in page


def test_several_jobs_are_recorded_at_once(shop, make_person) -> None:
    ids = ",".join(str(planned(shop, order_id=f"S-{n}").pk) for n in range(2))

    make_person(role="operator").post(
        "/admin/orchestrator/job/act/cut_by_hand/", {"ids": ids, "reason": "", "cut_by": ""}
    )

    assert set(Job.objects.values_list("status", "cut_by")) == {("DONE", "ayse")}


def test_a_shop_with_a_saw_sees_nothing_of_it(admin_client, db) -> None:
    page = admin_client.get("/admin/orchestrator/job/").text

    assert "Cut by hand" not in page
    assert "built-in optimiser" not in page
