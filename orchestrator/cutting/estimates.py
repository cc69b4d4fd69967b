"""What an order needs and costs before it is cut, by a plan of the built-in optimiser.

Plans are kept in files, the newest ones: the same order under the same rules gets the same plan, at once.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings

from orchestrator.cutting.orders import cutting_order
from orchestrator.cutting.plan_law import figures_of_plan
from orchestrator.cutting.problem import CuttingOrder
from orchestrator.cutting.solution import write_solution
from orchestrator.cutting.solving import solve
from orchestrator.errors import Code, JobError
from orchestrator.figures.job_figures import compute
from orchestrator.optiplanning.solution import CuttingPlan, read_plan, read_solution
from orchestrator.planning.plan import transform
from orchestrator.planning.rules_history import other_rules
from orchestrator.schemas.figures import JobFigures
from orchestrator.schemas.orders import Order
from orchestrator.schemas.rules import Rules

WAIT = 3.0  # seconds for a place, while somebody waits
MOST_KEPT = 200
FORMAT = 2  # of the solution files; plans of an earlier format are made again


@dataclass(frozen=True)
class Estimate:
    figures: JobFigures
    plan: CuttingPlan
    boards: int
    bound: int  # no plan has fewer boards, as far as is known
    is_optimal: bool


def estimate(order: Order, rules: Rules, *, wait: float = WAIT) -> Estimate:
    """Plan an order within seconds. NoOptimiser, OptimiserBusy, or JobError if it cannot be planned."""
    transform(order, rules)  # an order that would be held has no estimate
    if reason := other_rules():
        raise JobError(Code.UNKNOWN, reason)
    task = cutting_order(order, rules)
    path = _path(task, rules)
    kept = _read(path)
    if kept is None:
        plan = solve(task, wait=wait)
        content = write_solution(task, plan, rules.cutting)
        figures_of_plan(content, order, rules)
        kept = {
            "solution": content.decode(),
            "boards": plan.boards,
            "bound": sum(solved.bound for solved in plan.problems),
            "is_optimal": all(solved.is_optimal for solved in plan.problems),
        }
        _keep(path, kept)
    return _estimate(order, rules, **kept)


def kept_estimate(order: Order, rules: Rules) -> Estimate | None:
    """Return the estimate of an order that was planned before, without planning it now."""
    try:
        kept = _read(_path(cutting_order(order, rules), rules))
    except JobError:
        return None
    return _estimate(order, rules, **kept) if kept else None


def _estimate(order: Order, rules: Rules, *, solution: str, **facts: Any) -> Estimate:
    content = solution.encode()
    drawn = read_plan(content) or CuttingPlan(None, [], [], is_cut_short=False)
    return Estimate(compute(order, rules, read_solution([content]), basis="plan"), drawn, **facts)


def _path(task: CuttingOrder, rules: Rules) -> Path:
    text = json.dumps([FORMAT, asdict(task), rules.cutting.model_dump(mode="json")], default=str)
    return Path(settings.KILIT_VAR) / "optimisers" / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _read(path: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return kept
    return None


def _keep(path: Path, kept: dict[str, Any]) -> None:
    """Write a plan; without room on the disk it is planned again next time."""
    with suppress(OSError):
        with NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8", suffix=".part") as file:
            json.dump(kept, file)
        Path(file.name).replace(path)
        ages = sorted(
            (entry.stat().st_mtime, entry.path) for entry in os.scandir(path.parent) if ".lock" not in entry.name
        )
        for _, old in ages[:-MOST_KEPT]:
            Path(old).unlink(missing_ok=True)
