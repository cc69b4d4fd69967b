"""Ends a job that people have cut in part: the rest is cancelled, and what was not cut goes back to the store.

The job is DONE, with E_CANCELLED and the reason. People said how many boards they have cut, not which: the first ones
of the plan count as cut, in the order of the cutting sheet. What was cut is charged by its share of the boards.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from kilit.lock.audit import current_context
from kilit.lock.text import storable
from orchestrator import sentences
from orchestrator.cutting.stock import boards_and_offcuts
from orchestrator.figures.job_figures import STORED, figures_of
from orchestrator.figures.part_cut import figures_of_share
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.models.stock import IDENTITY
from orchestrator.optiplanning.solution import CutPattern, whole_patterns_of
from orchestrator.orders.order import order_from
from orchestrator.states import JobState, StockState
from orchestrator.workflow.by_hand import CutByHand, boards_of, why_not_cut
from orchestrator.workflow.decisions import deciding, find, require_rules


def cancel_rest(pk: UUID) -> Job:
    """End a job of which people have cut some boards, and not all."""
    rules = require_rules()
    with deciding(sentences.REST_CANCELLED):
        cut_in_part = Job.objects.with_people().filter(pk=pk, status=JobState.DELIVERED)
        job = cut_in_part.select_for_update(of=("self",)).first()
        if job is None:
            raise why_not_cut(find(pk), "cancel_rest")
        boards, figures = boards_of(job), figures_of(job)
        counts = {"cut": job.boards_cut, "boards": boards, "reason": current_context().reason}
        changes: dict[str, Any] = {"error_message": storable(sentences.CUT_IN_PART % counts, 1000)}
        if figures:
            part = figures_of_share(figures, rules, cut=min(job.boards_cut, boards), boards=boards)
            changes["figures"] = STORED.dump_python(part, mode="json")
        if stock := (job.planning or {}).get("stock"):
            changes["planning"] = {**(job.planning or {}), "stock": stock_of_cut(job, stock)}
        cut_in_part.cancel_rest(**changes)
        return find(pk)


def stock_of_cut(job: Job, stock: dict[str, Any]) -> dict[str, Any]:
    """Give back what the boards that were not cut had reserved, and return what is left to be booked and stored."""
    patterns = list(first_boards(whole_patterns_of(job), job.boards_cut))
    used, left = boards_and_offcuts(order_from(job.payload), patterns)
    needed, offcuts = (Counter[Any]() for _counter in range(2))
    for counter, panels in [*((needed, each) for each in used), *((offcuts, each) for each in left)]:
        counter[_alike(*panels.material, panels.length_mm, panels.width_mm)] += panels.number

    def take(counter: Counter[Any], columns: Mapping[str, Any]) -> bool:
        counter[key := _alike(*(columns[name] for name in IDENTITY))] -= 1
        return counter[key] >= 0

    reserved = list(job.stock.filter(status=StockState.RESERVED).order_by("id"))
    # A plan that is too large to be read says nothing of its boards.
    booked = [item for item in reserved if take(needed, vars(item))] if patterns else reserved[: job.boards_cut]
    rest = {item.pk for item in reserved} - {item.pk for item in booked}
    StockItem.objects.filter(pk__in=rest).move("give_back", job=None)
    missing = []
    for lacking in stock["missing"]:
        kind = BoardKind.objects.get(pk=lacking["board"])
        if number := sum(take(needed, vars(kind)) for _board in range(lacking["number"])):
            missing.append({**lacking, "number": number})
    kept = [row for row in stock["offcuts"] if take(offcuts, row)]
    return {**stock, "reserved": len(booked), "missing": missing, "offcuts": kept}


def _alike(code: str, color: str, thickness: object, length: object, width: object) -> tuple[object, ...]:
    """Return what boards or offcuts of one material and size have in common."""
    sizes = sorted(Decimal(str(side)) for side in (length, width))
    return code, color, Decimal(str(thickness)), *sizes


def first_boards(patterns: Sequence[CutPattern], number: int) -> Iterator[CutPattern]:
    for pattern in patterns:
        if number > 0:
            yield replace(pattern, boards=min(pattern.boards, number))
        number -= pattern.boards


CANCEL_REST = CutByHand("cancel_rest", "cancel_rest", decide=cancel_rest)
