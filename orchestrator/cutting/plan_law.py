"""The law of plans: what is stored to be cut is what was ordered.

It reads the file as all that follows will read it, and the order as it came: pieces, sizes, material, colour and
thickness, and the boards that are charged. `orchestrator.cutting.checking` proves that a plan can be cut; this
proves that it is the right one.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal

from orchestrator import sentences
from orchestrator.cutting.orders import tenths
from orchestrator.errors import Code, JobError
from orchestrator.optiplanning.solution import (
    MM2_PER_M2,
    CutPattern,
    CuttingPlan,
    Figures,
    Rectangle,
    read_whole_plan,
)
from orchestrator.schemas.figures import board_name
from orchestrator.schemas.orders import Order, Part, plain
from orchestrator.schemas.rules import Rules

logger = logging.getLogger(__name__)


def figures_of_plan(content: bytes, order: Order, rules: Rules) -> Figures:
    """Return the figures of a plan; JobError if it is not of the order."""
    plan = read_whole_plan(content)
    fault = next(differences(order, plan, rules), "") if plan else sentences.PLAN_UNREADABLE
    if plan is None or plan.chosen is None or fault:
        logger.error("the plan of order %s is not of the order: %s", order.order_id, fault)
        raise JobError(Code.OPTIMISER_FAILED, sentences.PLAN_DIFFERS % {"fault": fault})
    return plan.chosen


def differences(order: Order, plan: CuttingPlan, rules: Rules | None = None) -> Iterator[str]:
    """Yield how a plan differs from its order; without rules, which may have changed since, sizes are not compared."""
    parts = {part.id: part for part in order.parts}
    pieces: Counter[str] = Counter()
    boards: dict[str, Decimal] = defaultdict(Decimal)
    for pattern in plan.patterns:
        area = Decimal(str(pattern.length)) * Decimal(str(pattern.width)) / MM2_PER_M2
        boards[board_name(pattern.material, pattern.thickness)] += area * pattern.boards
        for placed in pattern.parts:
            pieces[placed.name] += pattern.boards
            if placed.name in parts:
                yield from _differences(parts[placed.name], placed, pattern, rules)
    for name in {*pieces, *parts}:
        if pieces[name] != (ordered := parts[name].quantity if name in parts else 0):
            yield sentences.PLAN_HAS_PIECES % {"pieces": pieces[name], "part": name, "ordered": ordered}
    counted = (plan.chosen or {}).get("boards_by_material", {})
    if {name: plain(area) for name, area in boards.items()} != counted:
        yield sentences.PLAN_HAS_AREA


def _differences(part: Part, placed: Rectangle, pattern: CutPattern, rules: Rules | None) -> Iterator[str]:
    if (pattern.material, pattern.color, pattern.thickness) != (
        part.material_code,
        part.color,
        plain(part.thickness_mm),
    ):
        yield sentences.PLAN_HAS_BOARD % {"part": part.id, "board": pattern.board}
    if rules:
        sides = [tenths(Decimal(str(side))) for side in (placed.length, placed.width)]
        if sorted(sides) != sorted(tenths(side) for side in rules.cut_size(part)):
            size = f"{placed.length:g} × {placed.width:g}"
            yield sentences.PLAN_HAS_SIZE % {"part": part.id, "size": size}
