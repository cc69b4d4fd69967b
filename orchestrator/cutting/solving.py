"""Plans an order: starts the solver in a process of its own, and returns the best plan that it wrote in time."""

import importlib.util
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator import sentences
from orchestrator.cutting import solver
from orchestrator.cutting.checking import faults
from orchestrator.cutting.places import NoPlaceFree, place
from orchestrator.cutting.problem import LEAST_DROP, CuttingOrder, CuttingProblem, OrderPlan, ProblemPlan, boards_from
from orchestrator.cutting.strips import NoPlate, plan_by_strips
from orchestrator.errors import Code, JobError
from orchestrator.optiplanning.adapters import run_program

logger = logging.getLogger(__name__)

ENGINE = "packingsolver"
SECONDS = 5.0
GRACE = 2.0  # seconds for start and end of the process; the solver looks at the time seldom
MEGABYTES = 512


class NoOptimiser(JobError):
    """There is no solver on this machine."""

    def __init__(self, reason: str) -> None:
        super().__init__(Code.UNKNOWN, reason)


class OptimiserBusy(JobError):
    """All places for solvers are taken."""

    def __init__(self) -> None:
        super().__init__(Code.UNKNOWN, sentences.OPTIMISERS_BUSY)


@dataclass(frozen=True)
class Progress:
    """What the solver has so far: boards of the best plan, and how many there are at least."""

    boards: int
    bound: int


KeepAlive = Callable[[], None]


def missing() -> str:
    """Return why there is no optimiser on this machine; nothing if there is one."""
    if importlib.util.find_spec(ENGINE):
        return ""
    return sentences.OLD_PYTHON if sys.version_info < (3, 12) else sentences.NO_ENGINE


def solve(
    order: CuttingOrder,
    *,
    seconds: float = SECONDS,
    wait: float = 0.0,
    keep_alive: KeepAlive = lambda: None,
    report: Callable[[Progress], None] | None = None,
) -> OrderPlan:
    """Return the best plan that is known after so many seconds, proven to be legal.

    `keep_alive` is called every second; if it raises, the solver is killed. Whatever happens to the solver, the plan
    by strips is left. NoOptimiser, OptimiserBusy, or JobError if a part fits no plate.
    """
    if reason := missing():
        raise NoOptimiser(reason)
    try:
        plan = OrderPlan(tuple(map(plan_by_strips, order.problems)))
    except NoPlate as error:
        raise JobError(Code.VALIDATION, sentences.NO_PLATE_FOR % {"part": error.piece.name}) from None
    try:
        with place(wait), tempfile.TemporaryDirectory(prefix="kilit-") as folder:
            task = Task(order, plan, Path(folder), seconds)
            task.run(keep_alive, report)
            best = task.best()
    except NoPlaceFree:
        raise OptimiserBusy from None
    return proven(order, best, plan)


def proven(order: CuttingOrder, best: OrderPlan, plain: OrderPlan) -> OrderPlan:
    """Return the best plan, or for a problem whose plan is not legal the plain one."""
    plans = []
    for problem, one, other in zip(order.problems, best.problems, plain.problems, strict=True):
        alone = CuttingOrder((problem,))
        if wrong := faults(alone, OrderPlan((one,))):
            logger.error("%s made a plan that cannot be cut: %s", one.solver, wrong)
            if wrong := faults(alone, OrderPlan((other,))):
                raise JobError(Code.UNKNOWN, sentences.NOT_CUTTABLE % {"reason": wrong[0]})
            one = other  # noqa: PLW2901
        plans.append(one)
    return OrderPlan(tuple(plans))


class Task:
    """A run of the solver: its files, and what it wrote into them."""

    def __init__(self, order: CuttingOrder, plain: OrderPlan, folder: Path, seconds: float) -> None:
        self.order, self.plain, self.seconds = order, plain, seconds
        self.source, self.target = folder / "problems.json", folder / "plans.jsonl"
        problems = [_problem(*pair) for pair in zip(order.problems, plain.problems, strict=True)]
        task = {"seconds": seconds, "megabytes": MEGABYTES, "problems": problems}
        self.source.write_text(json.dumps(task), encoding="utf-8")

    def run(self, keep_alive: KeepAlive, report: Callable[[Progress], None] | None = None) -> None:
        def look() -> None:
            keep_alive()
            if report:
                best = self.best()
                report(Progress(best.boards, sum(plan.bound for plan in best.problems)))

        began = time.monotonic()
        command = [sys.executable, "-I", solver.__file__, str(self.source), str(self.target)]
        try:
            ended = run_program(command, keep_alive=look, time_limit=timedelta(seconds=self.seconds + GRACE))
        except JobError as error:
            if error.code != Code.OPTI_XML_TIMEOUT:
                raise
            logger.warning("the solver was killed after %.1f s", time.monotonic() - began)
        else:
            if ended.code != 0:
                logger.warning("the solver ended with %s: %s", ended.code, ended.output or ended.not_started)

    def best(self) -> OrderPlan:
        plans = list(self.plain.problems)
        for row in self._rows():
            plan = plans[row["problem"]]
            if "boards" in row:
                plan = replace(plan, boards=boards_from(row["boards"]), solver=ENGINE)
            bound = max(plan.bound, row.get("bound", 0))
            plans[row["problem"]] = replace(
                plan, bound=bound, is_optimal=plan.is_optimal or row.get("is_optimal", False)
            )
        return OrderPlan(tuple(plans))

    def _rows(self) -> Iterator[dict[str, Any]]:
        with suppress(OSError):
            for line in self.target.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # the last line of a process that was killed
                    yield json.loads(line)


def _problem(problem: CuttingProblem, plain: ProblemPlan) -> dict[str, Any]:
    cost = plain.cost(problem)
    return {
        "pieces": [[piece.length, piece.width, piece.quantity, piece.can_turn] for piece in problem.pieces],
        "plates": [
            # No better plan has more of a plate than the cost of this one pays.
            [plate.length, plate.width, plate.cost, min(plate.number or most, most), _trims(plate.trim)]
            for plate, most in ((plate, max(1, cost // plate.cost)) for plate in problem.plates)
        ],
        "kerf": problem.kerf,
        "stages": problem.stages,
        "least_drop": LEAST_DROP,
        "cost": cost,
        "offcuts": plain.offcuts,
    }


def _trims(trim: Any) -> list[int]:
    return [trim.left, trim.bottom, trim.right, trim.top]
