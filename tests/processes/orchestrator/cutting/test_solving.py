"""The solver in its process: what it plans can be cut, and whatever happens to it, the best plan so far is left."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from orchestrator.cutting import places, solver, solving
from orchestrator.cutting.checking import faults
from orchestrator.cutting.problem import CuttingOrder, OrderPlan
from orchestrator.cutting.solving import NoOptimiser, OptimiserBusy, Progress, Task, solve
from orchestrator.cutting.strips import plan_by_strips
from orchestrator.errors import JobError
from tests.support.cutting_plans import PLATE, Sizes, kitchen, problem, random_parts, random_problem, wardrobe

pytestmark = pytest.mark.skipif(bool(solving.missing()), reason="there is no wheel of the solver for this Python")
AT_ONCE = 40  # small problems in one process


@pytest.fixture(autouse=True)
def own_places(settings, tmp_path) -> None:
    settings.KILIT_VAR, settings.OPTIMISERS = tmp_path, 1


def raw_plan(order: CuttingOrder, folder: Path, seconds: float) -> OrderPlan:
    """Return what the solver made, before anything illegal is replaced."""
    plain = OrderPlan(tuple(map(plan_by_strips, order.problems)))
    task = Task(order, plain, folder, seconds)
    task.run(lambda: None)
    return task.best()


def plan_random_orders(folder: Path, first: int, number: int) -> int:
    """Return how many of the plans came from the solver; each of them can be cut."""
    order = CuttingOrder(tuple(random_problem(seed) for seed in range(first, first + number)))
    folder.mkdir()
    plan = raw_plan(order, folder, seconds=number * 0.1)
    for seed, task, solved in zip(range(first, first + number), order.problems, plan.problems, strict=True):
        assert faults(CuttingOrder((task,)), OrderPlan((solved,))) == [], f"random_problem({seed})"
    return sum(solved.solver == solving.ENGINE for solved in plan.problems)


@pytest.mark.slow  # the solver's time
def test_plans_of_random_orders_can_be_cut(tmp_path) -> None:
    solved = sum(plan_random_orders(tmp_path / str(turn), turn * AT_ONCE, AT_ONCE) for turn in range(2))

    assert solved > AT_ONCE * 2 // 5  # else it would be the strips alone that are tested


@pytest.mark.nightly
def test_ten_thousand_plans_can_be_cut(tmp_path) -> None:
    turns = 10_000 // AT_ONCE
    assert sum(plan_random_orders(tmp_path / str(turn), turn * AT_ONCE, AT_ONCE) for turn in range(turns)) > turns


def order_of(*problems) -> CuttingOrder:
    return CuttingOrder(problems)


def test_a_kitchen_takes_fewer_boards_than_by_strips() -> None:
    order = order_of(kitchen(6, 20))
    seen: list[Progress] = []

    plan = solve(order, seconds=20, report=seen.append)

    assert plan.boards < plan_by_strips(order.problems[0]).number
    assert plan.problems[0].solver == solving.ENGINE
    assert all(progress.boards >= plan.boards for progress in seen)


def test_materials_are_planned_separately() -> None:
    order = order_of(kitchen(1, 3), replace(wardrobe(2, 2), thickness=8), random_parts(3, 5))

    plan = solve(order, seconds=5)

    assert faults(order, plan) == []
    assert [solved.number >= solved.bound for solved in plan.problems] == [True] * 3


def test_the_same_order_gets_the_same_plan() -> None:
    order = order_of(random_parts(10, 10))

    plans = [solve(order, seconds=20) for _ in range(2)]

    assert plans[0].problems[0].is_optimal
    assert plans[0] == plans[1]


def test_offcuts_are_used_first() -> None:
    """Four parts fill a plate. The offcut has room for the fifth, and is cheap."""
    offcut = replace(PLATE, length=12_000, width=8_000, cost=10, number=1, name="R-7")
    order = order_of(problem(Sizes({(1300, 1000, False): 4, (1100, 700, False): 1}), PLATE, offcut))

    plan = solve(order, seconds=3)

    used = {order.problems[0].plates[board.plate].name: len(board.parts) for board in plan.problems[0].boards}
    assert used == {"R-7": 1, "": 4}


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes({(2090, 2790, True): 2, (300, 200, True): 4}),  # fit only turned
        Sizes({(120, 80, True): 5_000}),
        Sizes({(2700, 2000, False): 30}),  # one on each plate
        Sizes({(2790, 2090, False): 2, (2790, 100, False): 3, (100, 2090, False): 3}),  # the plate less its trims
    ],
)
def test_hostile_orders_are_planned(sizes) -> None:
    order = order_of(problem(sizes))

    plan = solve(order, seconds=3)

    assert faults(order, plan) == []
    assert plan.boards <= plan_by_strips(order.problems[0]).number


def test_a_part_that_fits_no_plate_is_named() -> None:
    with pytest.raises(JobError, match="Part p1 fits no plate"):
        solve(order_of(problem(Sizes({(2800, 100, False): 1}))))


def solver_process() -> psutil.Process | None:
    below = psutil.Process().children(recursive=True)
    return next((one for one in below if solver.__file__ in one.cmdline() and not one.children()), None)


def test_a_killed_solver_leaves_a_plan() -> None:
    order = order_of(wardrobe(5, 16))
    killed: list[int] = []

    def kill() -> None:
        if process := solver_process():
            process.kill()
            killed.append(process.pid)

    plan = solve(order, seconds=60, keep_alive=kill)

    assert killed
    assert faults(order, plan) == []


def test_a_solver_is_killed_when_its_caller_gives_up() -> None:
    class ClaimLost(Exception):
        pass

    processes: list[psutil.Process] = []

    def give_up() -> None:
        if process := solver_process():
            processes.append(process)
            raise ClaimLost

    with pytest.raises(ClaimLost):
        solve(order_of(wardrobe(5, 16)), seconds=60, keep_alive=give_up)
    psutil.wait_procs(processes, timeout=10)
    assert not any(process.is_running() for process in processes)
    assert solve(order_of(kitchen(1, 3)), seconds=1).boards  # its place is free again


def with_solver(monkeypatch, tmp_path, script: str) -> None:
    """Let a script stand for the solver; `rows` in it are what the real one writes."""
    path = tmp_path / "fake_solver.py"
    path.write_text(f"import json, os, sys, time\n{script}")
    monkeypatch.setattr(solving, "solver", SimpleNamespace(__file__=str(path)))


WRITE = "open(sys.argv[2], 'a').write({text})\n"
TASK = problem(Sizes({(100, 100, False): 2}))
ROW = '{"problem": 0, "boards": [[0, 1, [[0, 100, 100, 1000, 1000], [0, 5000, 5000, 1000, 1000]], []]]}\n'


def test_a_solver_that_hangs_is_killed_and_its_plan_kept(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(solving, "GRACE", 0.5)
    with_solver(monkeypatch, tmp_path, WRITE.format(text=repr(ROW)) + "time.sleep(3600)")

    plan = solve(order_of(TASK), seconds=0.5)

    assert plan.problems[0].boards[0].parts[1].x == 5000


@pytest.mark.parametrize(
    "text",
    [
        ROW[: len(ROW) // 2],
        ROW.replace("5000, 5000", "100, 100"),  # one above the other
        ROW.replace("[0, 5000, 5000, 1000, 1000]", "").replace(", ]", "]"),
    ],
)
def test_what_a_solver_writes_is_not_believed(monkeypatch, tmp_path, text) -> None:
    with_solver(monkeypatch, tmp_path, WRITE.format(text=repr(text)) + "os._exit(3)")

    plan = solve(order_of(TASK), seconds=1)

    assert plan.problems[0].solver == "strips"
    assert faults(order_of(TASK), plan) == []


def test_a_solver_ends_before_it_takes_the_machines_memory(monkeypatch, caplog) -> None:
    monkeypatch.setattr(solving, "MEGABYTES", 1)

    plan = solve(order_of(wardrobe(5, 16)), seconds=30)

    assert plan.problems[0].solver in (solving.ENGINE, "strips")
    assert "more than 1 MB of memory" in caplog.text


def test_without_the_solver_there_is_no_optimiser(monkeypatch) -> None:
    monkeypatch.setattr(solving, "ENGINE", "no_such_solver")

    with pytest.raises(NoOptimiser, match="built-in optimiser"):
        solve(order_of(TASK))


def test_a_busy_machine_says_so() -> None:
    with places.place(0), pytest.raises(OptimiserBusy):
        solve(order_of(TASK))
    assert solve(order_of(TASK), seconds=1).boards == 1


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_a_killed_process_gives_its_place_back(tmp_path) -> None:
    (tmp_path / "optimisers").mkdir()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "optimisers" / "0.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(places.NoPlaceFree), places.place(0):
            pass
        holder.kill()
    with places.place(0):
        pass
