"""Mode D: the built-in optimiser plans the boards, and its plan is stored as a solution of OptiPlanning would be.

It takes no slot: as many plans are made at once as the machine has cores to spare (`orchestrator.cutting.places`).
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from django.db import transaction

from kilit.lock.clock import database_time
from orchestrator import sentences
from orchestrator.cutting.orders import cutting_order
from orchestrator.cutting.plan_law import figures_of_plan
from orchestrator.cutting.problem import CuttingOrder, OrderPlan
from orchestrator.cutting.solution import write_solution
from orchestrator.cutting.solving import OptimiserBusy, Progress, missing, solve
from orchestrator.cutting.stock import StockTaken, cheaper, has_its_stock, plates_in_stock, reserve
from orchestrator.errors import HOLD_CODES, Code, JobError
from orchestrator.figures.amounts_law import require_sums
from orchestrator.figures.job_figures import compute
from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.models.job import UNSOLVED
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import is_cut_in_part, settle_earlier_attempts
from orchestrator.schemas.orders import Order
from orchestrator.schemas.rules import Rules
from orchestrator.workflow.solutions import KeepAlive, digest, store_solution

Planned = tuple[CuttingOrder, OrderPlan]
SECONDS, STOCK_SECONDS = 30, 20  # for a plan, and for one of what is in stock; most orders take less
ASK_FOR_PLACE_AFTER = timedelta(seconds=2)
NOTE_EVERY = 2.0  # seconds


def plan_boards(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Store a plan of the job's boards; an earlier attempt's is used if the parts and the rules are the same."""
    rules = current_rules()
    source = order_from(job.payload)
    with named_errors():
        order = cutting_order(source, rules)
    task = hashlib.sha256(repr(order).encode()).hexdigest()
    if job.xml_sha256:
        return reuse(job, is_same=(job.planning or {}).get("task") == task and has_its_stock(job))
    if reason := missing():
        raise JobError(Code.OPTIMISER_MISSING, reason)
    seconds = SECONDS + STOCK_SECONDS if rules.stock else SECONDS
    planning = {"task": task, "since": database_time().isoformat(), "seconds": seconds}
    job.note(planning=planning)
    try:
        with named_errors():
            run = partial(solve, keep_alive=keep_alive, report=progress_note(job, planning))
            stocked = cutting_order(source, rules, plates_in_stock(source, rules)) if rules.stock else order
            plans = (
                solve_with_stock(order, stocked, run) if stocked != order else [(order, run(order, seconds=SECONDS))]
            )
    except OptimiserBusy:
        job.note(planning=None)
        return ASK_FOR_PLACE_AFTER
    try:
        store(job, source, plans, rules, planning | {"boards": plans[-1][1].boards})
    except StockTaken:
        job.note(planning=None)
        return timedelta(0)  # to plan with what is left
    return None


def solve_with_stock(plain: CuttingOrder, stocked: CuttingOrder, run: Callable[..., OrderPlan]) -> list[Planned]:
    """Plan without what is in stock, which the price is by, and with it; the last plan is cut.

    The first is given the time of an order without stock, so that it is the same plan.
    """
    fits = all(any(plate.takes(piece) for plate in each.plates) for each in plain.problems for piece in each.pieces)
    # A part may fit only what is in stock; then there is no other price.
    without = run(plain, seconds=SECONDS) if fits else None
    plan = cheaper(stocked, run(stocked, seconds=STOCK_SECONDS), without)
    return [*([(plain, without)] if without else []), (stocked, plan)]


@contextmanager
def named_errors() -> Iterator[None]:
    """Call what the optimiser cannot plan by its own code, unless an operator can fix it meanwhile."""
    try:
        yield
    except OptimiserBusy:
        raise
    except JobError as error:
        raise JobError(error.code if error.code in HOLD_CODES else Code.OPTIMISER_FAILED, error.message) from error


def reuse(job: Job, *, is_same: bool) -> timedelta | None:
    """Use the stored plan, unless other boards have to be cut by now; what was cut in part is never planned again."""
    if not is_same and job.delivery_names:
        settle_earlier_attempts(job, Folders.at(job.saw))
    if is_same or is_cut_in_part(job):
        job.advance("reuse_solution", sentences.STILL_VALID)
        return None
    job.note(**UNSOLVED)
    return timedelta(0)  # for the runner that plans


def progress_note(job: Job, planning: dict[str, object]) -> Callable[[Progress], None]:
    """Return a function that keeps what the solver has so far with the job, for its page."""
    noted_at = time.monotonic()

    def note(progress: Progress) -> None:
        nonlocal noted_at
        if time.monotonic() > noted_at + NOTE_EVERY:
            noted_at = time.monotonic()
            job.renew(planning=planning | {"boards": progress.boards, "bound": progress.bound})

    return note


@transaction.atomic
def store(job: Job, order: Order, plans: list[Planned], rules: Rules, planning: dict[str, object]) -> None:
    """Store the last plan and reserve what it takes from the store, both or neither; the price is by the first."""
    charged, content = (write_solution(*plan, rules.cutting) for plan in (plans[0], plans[-1]))
    solution, solution_charged = (figures_of_plan(written, order, rules) for written in (content, charged))
    solution |= {"charged": solution_charged} if len(plans) > 1 else {}
    require_sums(compute(order, rules, solution))
    contents = {f"{job.pk}.xml": content}
    if rules.stock:
        planning = planning | {"stock": reserve(job, *plans[-1], rules.stock)}
    columns = {
        "solution": solution,
        "xml_sha256": digest(contents.values()),
        "planning": planning,
    }
    message = sentences.PLANNED % {"boards": planning["boards"]}
    store_solution(job, "plan", contents, message, **columns)
