"""The figures of a job of which only some boards were cut: each quantity by the share of the boards that were."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from orchestrator.figures.job_figures import price, rounded
from orchestrator.schemas.figures import Charged, JobFigures
from orchestrator.schemas.rules import Rules


def figures_of_share(figures: JobFigures, rules: Rules, *, cut: int, boards: int) -> JobFigures:
    """Return the figures of so many of the boards. Pieces stay those of the order: nobody knows which were cut."""

    def share(quantity: Any) -> Any:
        return None if quantity is None else rounded(Decimal(quantity) * cut / boards)

    def of_plan(plan: JobFigures | Charged) -> dict[str, Any]:
        cuts = None if plan.cuts is None else int(share(plan.cuts).to_integral(ROUND_HALF_UP))
        return {"boards_m2": share(plan.boards_m2), "cuts": cuts, "machine_minutes": share(plan.machine_minutes)}

    materials = tuple(
        replace(each, area_m2=share(each.area_m2), boards_m2=share(each.boards_m2)) for each in figures.materials
    )
    # Each share is rounded, so their sum is what is charged.
    charged_m2 = {"boards_m2": sum(each.boards_m2 or 0 for each in materials)} if figures.boards_m2 is not None else {}
    part = replace(
        figures,
        parts_m2=sum((each.area_m2 for each in materials), Decimal(0)),
        materials=materials,
        edges=tuple(replace(edge, metres=share(edge.metres)) for edge in figures.edges),
        drops_m2=share(figures.drops_m2),
        charged=figures.charged and replace(figures.charged, **of_plan(figures.charged) | charged_m2),
        **of_plan(figures) | ({} if figures.charged else charged_m2),
    )
    return replace(part, amounts=price(part, rules.prices, basis="solution") if rules.prices else None)
