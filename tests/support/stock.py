"""The store: its rules, boards, offcuts, and what must hold of it whatever happened."""

import json
from itertools import count
from typing import Any

from kilit.database.sql import read_rows
from orchestrator.cutting.problem import CuttingOrder, OrderPlan
from orchestrator.cutting.strips import NoPlate, plan_by_strips
from orchestrator.errors import Code, JobError
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.workflow import planning_step, stock
from tests.support.cutting_jobs import GOVDE, make_job, new_job
from tests.support.cutting_rules import SHIPPED
from tests.support.lifecycle_conformance import Specimen

RULES = json.dumps({**SHIPPED, "cutBy": "hand", "optiModeDefault": "D", "stock": {}})
MATERIAL = {"material_code": "MAT-01", "color": "Beyaz", "thickness_mm": 18}
# A part that an offcut of 1300 × 500 mm takes, and one that takes half a board.
SMALL = {**GOVDE, "quantity": 1}
HALF = {**GOVDE, "id": "h1", "length_cm": 200, "width_cm": 120, "quantity": 1}
NUMBERS = count()


def kind_of_board(number: int = 0, **columns: Any) -> BoardKind:
    """Make a kind of board as the rules' default plate is, and so many boards."""
    sizes = {"length_mm": 2800, "width_mm": 2100}
    kind = BoardKind.objects.get(pk=BoardKind.objects.create(**{**MATERIAL, **sizes, **columns}).pk)
    stock.receive(kind, number, expected=0)
    return kind


def on_hand(kind: BoardKind) -> int:
    return StockItem.objects.filter(board=kind).on_hand().count()


def offcut(length: float = 1300, width: float = 500, **columns: Any) -> StockItem:
    item = StockItem(**{**MATERIAL, "length_mm": length, "width_mm": width, **columns})
    item.save()
    return StockItem.objects.get(pk=item.pk)


def plan_quickly(monkeypatch: Any) -> None:
    """Plan by strips in place of the solver, in milliseconds."""

    def solve(order: CuttingOrder, **_options: Any) -> OrderPlan:
        try:
            return OrderPlan(tuple(map(plan_by_strips, order.problems)))
        except NoPlate as error:
            raise JobError(Code.VALIDATION, str(error)) from None

    monkeypatch.setattr(planning_step, "missing", lambda: "")
    monkeypatch.setattr(planning_step, "solve", solve)


def ordered(*parts: Any, **changes: Any) -> Job:
    """Store another order at each call."""
    return make_job(**{"order_id": f"R-{next(NUMBERS)}", "opti_mode": "D", "parts": list(parts), **changes})


def in_state(**rows: Any) -> dict[str, int]:
    states = list(StockItem.objects.filter(**rows).order_by().values_list("status", flat=True))
    return {state: states.count(state) for state in sorted({*states})}


STOCK_ITEMS = Specimen(
    StockItem,
    make=offcut,
    changes={
        **dict.fromkeys(("reserve", "use"), lambda: {"job": new_job()}),
        **dict.fromkeys(("give_back", "put_back", "release"), lambda: {"job": None}),
    },
)

# What came and went by the log, and what is there.
NUMBERS_OF_KINDS = """
    SELECT kind.id, coalesce(log.number, 0), coalesce(there.number, 0) FROM orchestrator_boardkind kind
    LEFT JOIN (
      SELECT item.board_id, sum(CASE
        WHEN event.event_type = 'JOB_CREATED' OR event.details ->> 'verb' IN ('restore', 'put_back') THEN 1
        WHEN event.details ->> 'verb' IN ('book', 'use', 'take_out') THEN -1 ELSE 0 END) AS number
      FROM lock_event event JOIN orchestrator_stockitem item ON item.id = event.object_id
      WHERE event.queue = 'stock_item' GROUP BY 1
    ) AS log ON log.board_id = kind.id
    LEFT JOIN (
      SELECT board_id, count(*) AS number FROM orchestrator_stockitem
      WHERE status IN ('AVAILABLE', 'RESERVED') GROUP BY 1
    ) AS there ON there.board_id = kind.id
    WHERE coalesce(log.number, 0) <> coalesce(there.number, 0)
"""
# What a job's plan reserved and leaves, and what the job has.
JOBS = """
    SELECT id, status, planned, reserved, booked, leaves, offcuts FROM (
      SELECT job.id, job.status, coalesce((planning -> 'stock' ->> 'reserved')::int, 0) AS planned,
        (SELECT count(*) FROM orchestrator_stockitem WHERE job_id = job.id AND status = 'RESERVED') AS reserved,
        (SELECT count(*) FROM lock_event WHERE queue = 'stock_item' AND details ->> 'verb' = 'book'
          AND details ->> 'job_id' = job.id::text) AS booked,
        coalesce(jsonb_array_length(planning -> 'stock' -> 'offcuts'), 0) AS leaves,
        (SELECT count(*) FROM orchestrator_stockitem WHERE made_by_id = job.id) AS offcuts,
        open_deliveries <> '[]' OR EXISTS (
          SELECT FROM orchestrator_solutionfile WHERE job_id = job.id AND acknowledged_as <> '') AS may_be_cut
      FROM orchestrator_job job
    ) AS jobs
    WHERE CASE
      WHEN status = 'DONE' THEN (reserved, booked, offcuts) <> (0, planned, leaves)
      WHEN status IN ('OPTI_DONE', 'XML_READY', 'DELIVERED') OR may_be_cut
        THEN (reserved, booked, offcuts) <> (planned, 0, 0)
      ELSE (reserved, booked, offcuts) <> (0, 0, 0) END
"""


def stock_adds_up() -> list[str]:
    """Boards are as many as came less those that went; each job has what its plan reserved, and left what it leaves."""
    found = [f"kind {kind}: {log} by the log, there are {there}" for kind, log, there in read_rows(NUMBERS_OF_KINDS)]
    for pk, status, planned, reserved, booked, leaves, offcuts in read_rows(JOBS):
        has = f"has {reserved} reserved, {booked} booked, {offcuts} offcuts"
        found.append(f"job {pk} {status}: its plan has {planned} and leaves {leaves}; it {has}")
    return found
