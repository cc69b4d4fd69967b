"""Mode D: the built-in optimiser plans a job, outside OptiPlanning's slot, once."""

import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db import connection

from kilit.lock.models import Event
from orchestrator.cutting import places, solving
from orchestrator.cutting.checking import faults
from orchestrator.cutting.solving import Progress
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job, SolutionFile
from orchestrator.optiplanning import adapters, guardian
from orchestrator.optiplanning.solution import plan_of
from orchestrator.workflow import decisions, planning_step, watching
from orchestrator.workflow.by_hand import cut_by_hand
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import ARKALIK, CUTTING_JOBS, GOVDE, make_job, page_of
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import due_again, player, work_until
from tests.support.stock import RULES, SMALL, in_state, kind_of_board, offcut, stock_adds_up
from tests.support.waiting import wait_for_the_end, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("customer"),
    pytest.mark.skipif(bool(solving.missing()), reason="the optimiser needs Python 3.12"),
]
PARTS = [{**GOVDE, "id": f"g{number}", "length_cm": 60 + number, "quantity": 5} for number in range(8)]


@pytest.fixture
def shop(floor, rules_file) -> Any:
    rules_file.write_text(json.dumps({**SHIPPED, "cutBy": "hand", "optiModeDefault": "D"}))
    return floor


def ordered(**changes: Any) -> Job:
    return make_job(**{"opti_mode": "D", "parts": [*PARTS, ARKALIK], **changes})


def planned(job: Job) -> Job:
    due_again(job)
    work_until(job, "XML_READY", "FAILED", "HOLD")
    assert (job.status, job.error_code, job.error_message) == ("XML_READY", "", "")
    return job


def states(job: Job) -> list[str]:
    return [event.to_state for event in Event.objects.of(job) if event.from_state != event.to_state]


def test_an_order_of_several_materials_goes_from_parts_to_done_without_optiplanning(shop) -> None:
    job = planned(ordered())

    (file,) = job.solution_files.all()
    plan = plan_of(file.pk, file.sha256)
    assert sum(len(pattern.parts) * pattern.boards for pattern in plan.patterns) == 41
    assert {pattern.material for pattern in plan.patterns} == {"MAT-01", "MAT-02"}
    assert figures_of(job).boards_m2 > figures_of(job).parts_m2
    assert list(shop.imports.iterdir()) == list(shop.inbox.iterdir()) == []
    assert states(job) == ["NEW", "PREPARED", "OPTI_DONE", "XML_READY"]


def test_the_optimiser_takes_an_offcut_where_it_saves_a_board(shop, rules_file, monkeypatch) -> None:
    rules_file.write_text(RULES)
    monkeypatch.setattr(planning_step, "SECONDS", 6)
    rest, kind = offcut(), kind_of_board(9)

    planned(ordered(parts=[{**SMALL, "quantity": 3}]))
    assert (in_state(board=None), in_state(board=kind)) == ({"AVAILABLE": 1}, {"AVAILABLE": 8, "RESERVED": 1})

    job = planned(ordered(order_id="S-2", parts=[SMALL]))
    rest.refresh_from_db()
    assert (rest.job, stock_adds_up()) == (job, [])


def test_where_there_is_a_saw_it_takes_the_plan(floor) -> None:
    job = work_until(ordered(), "DONE", machines=player(floor, only="saw"))

    assert [path.name for path in floor.processed.iterdir()] == job.delivery_names


def test_it_takes_no_slot_and_waits_for_none(shop) -> None:
    CUTTING_JOBS.row_in("OPTI_RUNNING")

    assert planned(ordered()).status == "XML_READY"
    assert Job.objects.filter(status="OPTI_RUNNING").count() == 1


def test_several_are_planned_at_once_and_each_once(shop, settings, monkeypatch) -> None:
    settings.OPTIMISERS = 3
    together, stop = threading.Barrier(3, timeout=60), threading.Event()
    solve = planning_step.solve

    def solve_together(*args: Any, **options: Any) -> Any:
        together.wait()
        return solve(*args, **options)

    monkeypatch.setattr(planning_step, "solve", solve_together)
    jobs = [ordered(order_id=f"S-{number}") for number in range(3)]

    def watch() -> None:
        watching.watch(stop)
        connection.close()

    runner = threading.Thread(target=watch)
    runner.start()
    try:
        wait_until(lambda: Job.objects.filter(status="XML_READY").count() == 3)
    finally:
        stop.set()
        runner.join()

    assert [states(job).count("OPTI_DONE") for job in jobs] == [1, 1, 1]


def test_a_job_waits_while_no_core_is_free(shop, settings) -> None:
    settings.OPTIMISERS = 1
    job = ordered()

    with places.place(0):
        tick(patient=True)
        job.refresh_from_db()
        assert (job.status, job.claim_token, job.retry_count, job.error_code) == ("PREPARED", None, 0, "")

    due_again(job)
    planned(job)


def test_without_a_solver_it_waits_for_an_operator_who_reads_why(shop, monkeypatch, admin_client) -> None:
    monkeypatch.setattr(planning_step, "missing", lambda: solving.sentences.OLD_PYTHON)
    job = work_until(ordered(), "HOLD")

    assert job.error_code == "E_OPTIMISER_MISSING"
    page = page_of(admin_client, job).text
    assert "needs Python 3.12 or newer" in page
    assert "Approve" in page
    monkeypatch.undo()
    decisions.approve(job.pk)
    assert planned(job).error_code == ""


def test_what_cannot_be_planned_fails_with_the_part(shop, rules_file) -> None:
    job = ordered()
    small = {"width_mm": 500, "height_mm": 600}
    rules_file.write_text(json.dumps({**SHIPPED, "defaultPlateSize": small}))

    failed = work_until(job, "FAILED")

    assert failed.error_code == "E_OPTIMISER_FAILED"
    assert "g" in failed.error_message


def test_a_cancelled_job_stops_its_solver(shop, monkeypatch) -> None:
    solvers: list[psutil.Process] = []
    others = set(psutil.Process().children(recursive=True))  # such as the server of the tests
    run = solving.run_program

    def run_and_cancel(command: Any, *, keep_alive: Any, **options: Any) -> Any:
        def look() -> None:
            solvers[:] = set(psutil.Process().children(recursive=True)) - others
            if Job.objects.exclude(status="FAILED").exists():
                decisions.cancel(job.pk)
            keep_alive()

        return run([*command[:2], "-c", "import time; time.sleep(600)"], keep_alive=look, **options)

    monkeypatch.setattr(solving, "run_program", run_and_cancel)
    job = ordered()

    tick(patient=True)

    job.refresh_from_db()
    assert (job.status, job.error_code) == ("FAILED", "E_CANCELLED")
    assert solvers
    wait_for_the_end(*solvers)
    assert not SolutionFile.objects.exists()


# When a solver is killed: by the file of its plans, which it opens before it searches.
MOMENTS: dict[str, Callable[[Path], bool]] = {
    "as it starts": lambda _plans: True,
    "before its first plan": Path.exists,
    "after its first plan": lambda plans: plans.exists() and '"boards"' in plans.read_text(),
}


@pytest.fixture(params=[pytest.param("", marks=pytest.mark.nightly), "with stock"])
def store(shop, rules_file, monkeypatch, request) -> str:
    """Have a store, whose plans start the solver twice, or none."""
    if request.param:
        rules_file.write_text(RULES)
        monkeypatch.setattr(planning_step, "SECONDS", 6)
        kind_of_board(1)
        offcut()
    return str(request.param)


@pytest.mark.parametrize("killed", ["solver", "guardian"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_job_whose_solver_is_killed_gets_a_plan_and_ends(store, monkeypatch, moment, killed) -> None:
    """The best plan so far is taken, at worst the one by strips."""
    started: dict[str, psutil.Process] = {}
    made: list[tuple[Any, Any]] = []
    run, solve = solving.run_program, planning_step.solve

    def run_and_kill(command: list[str], *, keep_alive: Any, **options: Any) -> Any:
        lines = {"solver": command, "guardian": [sys.executable, "-I", guardian.__file__, *command]}

        def look() -> None:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):  # it has ended meanwhile
                    line = process.cmdline()
                    started.update({name: process for name, own in lines.items() if own == line})
            if "solver" in started and MOMENTS[moment](Path(command[-1])):
                with suppress(psutil.NoSuchProcess):  # killed before
                    started[killed].kill()
            keep_alive()

        return run(command, keep_alive=look, **options)

    def solve_and_keep(order: Any, **options: Any) -> Any:
        made.append((order, solve(order, **options)))
        return made[-1][1]

    monkeypatch.setattr(adapters, "KEEP_ALIVE_EVERY", 0.02)
    monkeypatch.setattr(solving, "run_program", run_and_kill)
    monkeypatch.setattr(planning_step, "solve", solve_and_keep)

    job = planned(ordered())

    assert len(made) == (2 if store else 1)
    assert [faults(order, plan) for order, plan in made] == [[]] * len(made)
    if moment == "after its first plan":  # at the other moments it may have been quicker than the kill
        assert solving.ENGINE in {each.solver for _, plan in made for each in plan.problems}
    wait_for_the_end(*started.values())
    assert (in_state(job=job) != {}, stock_adds_up()) == (bool(store), [])
    assert cut_by_hand(job.pk, by="Mehmet").status == "DONE"
    assert stock_adds_up() == []
    assert states(job) == ["NEW", "PREPARED", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]


def test_a_retry_uses_the_plan_unless_the_order_would_be_planned_otherwise(shop, rules_file, monkeypatch) -> None:
    job = planned(ordered())
    first = job.xml_sha256
    monkeypatch.setattr(planning_step, "solve", None)
    decisions.cancel(job.pk)
    decisions.retry(job.pk)
    due_again(job)

    assert planned(job).xml_sha256 == first
    monkeypatch.undo()
    decisions.cancel(job.pk)
    decisions.retry(job.pk)
    other = {**SHIPPED, "cutBy": "hand", "cutting": {"kerfMm": 6}}
    rules_file.write_text(json.dumps(other))
    due_again(job)
    assert planned(job).xml_sha256 != first
    assert SolutionFile.objects.count() == 1


def test_the_page_says_how_far_it_is(shop, monkeypatch, admin_client) -> None:
    monkeypatch.setattr(planning_step, "NOTE_EVERY", -1)
    pages: list[str] = []
    job = ordered()

    def solve(_order: Any, *, report: Any, **options: Any) -> Any:
        report(Progress(boards=7, bound=6))
        pages.append(page_of(admin_client, job).text)
        raise planning_step.OptimiserBusy

    monkeypatch.setattr(planning_step, "solve", solve)
    tick(patient=True)

    assert "Best plan so far: 7 boards; fewer than 6 are not possible." in pages[0]
    assert "Waits for the built-in optimiser" in page_of(admin_client, job).text
