"""What a plan takes from the store: it is offered what is available, and reserves what it uses.

The rows are reserved in the transaction that stores the plan. Of two plans with the same offcut, one stores nothing and
is made again. What becomes of them when the job ends is decided by a trigger (`orchestrator.models.stock`).

OptiPlanning is offered nothing: it plans with plates of its own. Its solution reserves boards of the same size.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any

from django.db.models import Count, F, Q

from kilit.lock.identity import uuid7
from orchestrator.cutting.orders import TENTHS, Material, plate_cost, tenths, whole_plate
from orchestrator.cutting.problem import CuttingOrder, CuttingProblem, Drop, OrderPlan, Plate
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.optiplanning.solution import CutPattern, part_name
from orchestrator.schemas.orders import Order, PlateSize, plain
from orchestrator.schemas.rules import Rules, StockRules
from orchestrator.states import StockState

OFFCUT, BOARD = "offcut", "board"
MOST_OFFCUTS = 2_000  # that a job leaves
MOST_SIZES = 12  # of offcuts of a material: with more plates to choose from, the solver finds less
OFFCUTS_CHEAPER = 10  # a plan may use some in place of a board, and uses none for nothing
BOARDS_CHEAPER = 2  # than a plate that is not in stock


class StockTaken(Exception):
    """Another plan has it by now."""


def plates_in_stock(order: Order, rules: Rules) -> dict[Material, list[Plate]]:
    """Return the offcuts of an order's materials, and boards of other sizes where its own plate is not in stock."""
    own = rules.plate_of(order)
    wanted = {(part.material_code, part.color, part.thickness_mm) for part in order.parts}
    any_of_them = Q(
        *(Q(material_code=code, color=color, thickness_mm=mm) for code, color, mm in wanted), _connector="OR"
    )
    sizes = ("material_code", "color", "thickness_mm", "length_mm", "width_mm")
    counted = StockItem.objects.available().filter(any_of_them).values(*sizes, is_offcut=Q(board=None))
    rows = counted.annotate(number=Count("pk")).order_by(-F("length_mm") * F("width_mm"), "length_mm")
    offcuts: dict[Material, list[Any]] = defaultdict(list)
    boards: dict[Material, list[Any]] = defaultdict(list)
    for row in rows:
        material = row["material_code"], row["color"], row["thickness_mm"]
        (offcuts if row["is_offcut"] else boards)[material].append(row)
    plates = {}
    for material in wanted:
        others = [] if order.plate_size else [_board(row, rules) for row in boards[material]]
        if own and any(_sides(plate) == _sides(whole_plate(own, rules, material[2])) for plate in others):
            others = []
        plates[material] = [*(_offcut(row) for row in offcuts[material][:MOST_SIZES]), *others]
    return plates


def _offcut(row: dict[str, Any]) -> Plate:
    sides = tenths(row["length_mm"]), tenths(row["width_mm"])
    return Plate(*sides, max(1, plate_cost(*sides) // OFFCUTS_CHEAPER), row["number"], name=OFFCUT)


def _board(row: dict[str, Any], rules: Rules) -> Plate:
    size = PlateSize.model_construct(width_mm=row["width_mm"], height_mm=row["length_mm"])
    plate = whole_plate(size, rules, row["thickness_mm"])
    return replace(plate, cost=max(1, plate.cost // BOARDS_CHEAPER), number=row["number"], name=BOARD)


def _sides(plate: Plate) -> tuple[int, int]:
    return plate.length, plate.width


def cheaper(stocked: CuttingOrder, plan: OrderPlan, without: OrderPlan | None) -> OrderPlan:
    """Return the cheaper plan of each problem; the plate of the plan without stock is the last of the stocked order."""
    if without is None:
        return plan
    plans = []
    for problem, one, other in zip(stocked.problems, plan.problems, without.problems, strict=True):
        own_plate = len(problem.plates) - 1
        moved = replace(other, boards=tuple(replace(board, plate=own_plate) for board in other.boards))
        plans.append(min(one, moved, key=lambda each, of=problem: each.cost(of)))  # type: ignore[misc]
    return OrderPlan(tuple(plans))


@dataclass(frozen=True)
class Panels:
    """Boards or offcuts of one material and size."""

    material: Material
    length_mm: Decimal
    width_mm: Decimal
    number: int = 1
    is_offcut: bool = False
    is_limited: bool = False  # there were only so many for the plan to use


def reserve(job: Job, order: CuttingOrder, plan: OrderPlan, rules: StockRules) -> dict[str, Any]:
    """Reserve what a plan cuts, and return that with its offcuts, to be kept with the plan."""
    return _reserve(job, _used(order, plan), _left(order, plan), rules)


def reserve_boards(job: Job, order: Order, patterns: Iterable[CutPattern], rules: StockRules) -> dict[str, Any]:
    """Do the same for a solution of OptiPlanning."""
    return _reserve(job, *boards_and_offcuts(order, patterns), rules)


def boards_and_offcuts(order: Order, patterns: Iterable[CutPattern]) -> tuple[list[Panels], list[Panels]]:
    """Return what the boards of a solution take and leave; their parts tell of what material they are."""
    used, left = Counter[tuple[Material, Decimal, Decimal]](), []
    for pattern, material in with_materials(order, patterns):
        if material:
            length, width = sorted(map(_decimal, (pattern.length, pattern.width)), reverse=True)
            used[material, length, width] += pattern.boards
            sizes = [(_decimal(drop.length), _decimal(drop.width)) for drop in pattern.drops]
            left += [Panels(material, *size, pattern.boards) for size in sizes]
    return [Panels(*size, number) for size, number in used.items()], left


def with_materials(order: Order, patterns: Iterable[CutPattern]) -> Iterator[tuple[CutPattern, Material | None]]:
    """Yield each board with its material, which is that of its parts."""
    materials = {part.id: (part.material_code, part.color, part.thickness_mm) for part in order.parts}
    for pattern in patterns:
        names = map(part_name, pattern.parts)
        yield pattern, next((materials[name] for name in names if name in materials), None)


def boards_to_take(job: Job, order: Order, patterns: Iterable[CutPattern]) -> Iterator[CutPattern]:
    """Yield boards that say which one to take: material, colour, thickness, and the offcuts that the job has reserved.

    An offcut belongs to the first pattern of its size: of two panels of one size, either will do.
    """
    offcuts: dict[Any, list[StockItem]] = defaultdict(list)
    for item in job.stock.filter(board=None).order_by("-id"):
        offcuts[item.material_code, item.color, item.thickness_mm, item.length_mm, item.width_mm].append(item)
    for pattern, material in with_materials(order, patterns):
        if material is None:
            yield pattern
            continue
        code, color, thickness = material
        here = offcuts[*material, _decimal(pattern.length), _decimal(pattern.width)]
        items = [here.pop() for _ in range(min(len(here), pattern.boards))]
        taken = tuple((item.code, item.place) for item in items)
        yield replace(pattern, material=pattern.material or code, color=color, thickness=plain(thickness), taken=taken)


def _decimal(millimetres: float) -> Decimal:
    return Decimal(f"{millimetres:.1f}")


def _reserve(job: Job, used: Iterable[Panels], left: Iterable[Panels], rules: StockRules) -> dict[str, Any]:
    """Boards that are not there stop nothing: they are missing until they come.

    StockTaken, if something that there is only so much of has gone to another plan.
    """
    StockItem.objects.filter(job=job).move("give_back", job=None)
    reserved, missing = 0, []
    for panels in used:
        code, color, thickness = panels.material
        same = Q(material_code=code, color=color, thickness_mm=thickness)
        same &= Q(length_mm=panels.length_mm, width_mm=panels.width_mm)
        rows = StockItem.objects.filter(same, board__isnull=panels.is_offcut)
        taken = len(rows.take("reserve", limit=panels.number, order=("id",), job=job))
        if taken < panels.number and panels.is_limited:
            raise StockTaken
        reserved += taken
        if taken < panels.number and (kind := BoardKind.objects.filter(same).values_list("pk", flat=True).first()):
            missing.append({"board": kind, "number": panels.number - taken})
    return {"reserved": reserved, "missing": missing, "offcuts": list(islice(_offcuts(left, rules), MOST_OFFCUTS))}


def has_its_stock(job: Job) -> bool:
    """Return whether all that a job's plan reserved is still reserved."""
    stock = (job.planning or {}).get("stock")
    return not stock or job.stock.filter(status=StockState.RESERVED).count() == stock["reserved"]


def _used(order: CuttingOrder, plan: OrderPlan) -> Iterator[Panels]:
    for problem, solved in zip(order.problems, plan.problems, strict=True):
        plates = Counter[int]()
        for board in solved.boards:
            plates[board.plate] += board.copies
        for index, number in sorted(plates.items()):
            plate = problem.plates[index]
            is_offcut, is_limited = plate.name == OFFCUT, plate.number is not None
            yield Panels(_material(problem), *_millimetres(plate), number, is_offcut, is_limited)


def _left(order: CuttingOrder, plan: OrderPlan) -> Iterator[Panels]:
    for problem, solved in zip(order.problems, plan.problems, strict=True):
        for board in solved.boards:
            for drop in board.drops:
                yield Panels(_material(problem), *_millimetres(drop), board.copies)


def _material(problem: CuttingProblem) -> Material:
    return problem.material_code, problem.color, problem.thickness


def _offcuts(left: Iterable[Panels], rules: StockRules) -> Iterator[dict[str, str]]:
    """Yield a row for each, with its id, so that its label can be printed before it is cut."""
    for panels in left:
        code, color, thickness = panels.material
        sizes = {"thickness_mm": thickness, "length_mm": panels.length_mm, "width_mm": panels.width_mm}
        for _number in range(panels.number if rules.keeps(panels.length_mm, panels.width_mm) else 0):
            yield {
                "id": str(uuid7()),
                "material_code": code,
                "color": color,
                **{name: str(size) for name, size in sizes.items()},
            }


def _millimetres(side: Plate | Drop) -> tuple[Decimal, Decimal]:
    return Decimal(side.length) / TENTHS, Decimal(side.width) / TENTHS
