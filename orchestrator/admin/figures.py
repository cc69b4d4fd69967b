"""A job's figures on its page, and its cutting plan: the figures of each solution, and each board as a drawing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import number
from orchestrator.cutting.estimates import kept_estimate
from orchestrator.cutting.stock import boards_to_take
from orchestrator.figures.in_words import amounts_card, notes_on
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job
from orchestrator.optiplanning.solution import CutPattern, CuttingPlan, Figures, Rectangle, part_name, plan_of
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.states import JobState

LARGEST_LETTERS, SMALLEST_LETTERS = 90, 45  # millimetres on the board
EDGE = 8  # millimetres around a board, for the line of its edge
LETTER_WIDTH = 0.62  # of its height


@dataclass(frozen=True)
class DrawnName:
    text: str
    x: float  # of its middle
    y: float
    height: float
    is_upright: bool


@dataclass(frozen=True)
class DrawnBoard:
    title: str
    view_box: str
    pattern: CutPattern
    names: list[DrawnName]  # of parts that are large enough
    contents: list[str]  # the same in words


@dataclass(frozen=True)
class DrawnPlan:
    name: str
    rows: list[tuple[str, list[tuple[str, str]]]]  # of each solution, what became of it and its figures
    boards: list[DrawnBoard]
    is_cut_short: bool


def drawn_plans(job: Job) -> list[DrawnPlan]:
    if not job.xml_sha256:
        return []
    files = job.solution_files.order_by("name").values_list("name", "pk", "sha256")
    plans = [(name, plan_of(pk, sha256)) for name, pk, sha256 in files]
    order = order_from(job.payload)
    return [
        draw(name, replace(plan, patterns=list(boards_to_take(job, order, plan.patterns))))
        for name, plan in plans
        if plan
    ]


def draw(name: str, plan: CuttingPlan, *, chosen: str = "") -> DrawnPlan:
    rows = [(chosen or _("Chosen"), figure_cells(plan.chosen))] if plan.chosen else []
    rows += [(_("Rejected"), figure_cells(figures)) for figures in plan.rejected]
    boards = [_board(place, pattern) for place, pattern in enumerate(plan.patterns, start=1)]
    return DrawnPlan(name, rows, boards, plan.is_cut_short)


def solution_figures(job: Job) -> list[tuple[str, str]]:
    cells = figure_cells(job.solution or {}) if job.xml_sha256 else []
    return [(label, value) for label, value in cells if value != "–"]


def figure_cells(figures: Figures) -> list[tuple[str, str]]:
    """Return the figures that people compare, each with its label, or a dash for a missing figure."""
    boards, drops, seconds = (_decimal(figures, name) for name in ("boards_m2", "drops_m2", "time_s"))
    share = (boards - drops) / boards if boards and drops is not None and drops <= boards else None
    return [
        (_("Boards"), _amount(boards, 2, " m²")),
        # Not the job's yield, which needs the area of its parts. No solution has that area.
        (_("Without offcuts"), _("%(number)s %%") % {"number": f"{share * 100:.0f}"} if share is not None else "–"),
        (_("Offcuts"), _amount(drops, 2, " m²")),
        (_("Patterns"), _amount(figures.get("patterns"), 0)),
        (_("Cuts"), _amount(figures.get("cuts"), 0)),
        (_("Machine time"), _amount(seconds / 60 if seconds is not None else None, 1, f" {_('min')}")),
        (_("Cost in OptiPlanning"), _amount(_decimal(figures, "cost"), 2)),
        (_("Algorithm"), figures.get("algo") or "–"),
    ]


def _decimal(figures: Figures, name: str) -> Decimal | None:
    return Decimal(figures[name]) if figures.get(name) is not None else None


def _amount(value: Decimal | int | None, places: int, unit: str = "") -> str:
    if value is None:
        return "–"
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return number_format(rounded, places, force_grouping=True) + unit


def _board(place: int, pattern: CutPattern) -> DrawnBoard:
    names = Counter((part_name(part), _sides(part)) for part in pattern.parts)
    return DrawnBoard(
        title=" · ".join(_title(place, pattern)),
        view_box=f"-{EDGE} -{EDGE} {pattern.length + 2 * EDGE:g} {pattern.width + 2 * EDGE:g}",
        pattern=pattern,
        names=[name for name in map(_name, pattern.parts) if name.height >= SMALLEST_LETTERS],
        contents=[
            *(f"{name}: {sides}" + (f" × {count}" if count > 1 else "") for (name, sides), count in names.items()),
            *(_("Offcut: %(size)s") % {"size": _sides(drop)} for drop in pattern.drops),
        ],
    )


def _title(place: int, pattern: CutPattern) -> Iterator[str]:
    yield _("Pattern %(number)s") % {"number": number(place)}
    if pattern.board:
        yield pattern.board
    yield from (_("Offcut %(code)s") % {"code": " · ".join(filter(None, offcut))} for offcut in pattern.taken)
    yield f"{pattern.length:g} × {pattern.width:g} mm"
    yield ngettext("%(number)s board", "%(number)s boards", pattern.boards) % {"number": number(pattern.boards)}
    parts = len(pattern.parts)
    yield ngettext("%(number)s part", "%(number)s parts", parts) % {"number": number(parts)}
    yield _("%(number)s %% used") % {"number": f"{pattern.used * 100:.0f}"}


def _sides(rectangle: Rectangle) -> str:
    return f"{rectangle.length:g} × {rectangle.width:g} mm"


def _name(part: Rectangle) -> DrawnName:
    text = part_name(part)
    along, across = max(part.length, part.width), min(part.length, part.width)
    height = min(LARGEST_LETTERS, across * 0.6, along * 0.9 / (LETTER_WIDTH * len(text)))
    x, y = part.x + part.length / 2, part.y + part.width / 2
    return DrawnName(text, x, y, height, is_upright=part.width > part.length)


def figures_card(job: Job) -> dict[str, object] | None:
    """Return the figures as texts. Notes say how far the amounts can be relied on."""
    figures = figures_of(job)
    if figures is None:
        return None
    if figures.amounts and figures.amounts.basis == "estimate":
        # As its offer has them, once it was planned.
        planned = kept_estimate(order_from(job.payload), current_rules())
        figures = planned.figures if planned else figures
    return amounts_card(figures, list(notes_on(figures, is_finished=job.status == JobState.DONE)))


def last_month() -> dict[str, str]:
    last = timezone.localdate().replace(day=1) - timedelta(days=1)
    return {"first": f"{last.replace(day=1)}", "last": f"{last}"}
