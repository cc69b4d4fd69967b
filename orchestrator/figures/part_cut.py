"""The figures of a job of which only some boards were cut: each quantity by the share of the boards that were."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

from orchestrator.figures.job_figures import price, rounded
from orchestrator.schemas.figures import Charged, JobFigures
from orchestrator.schemas.rules import Rules


def figures_of_share(figures: JobFigures, rules: Rules, *, cut: int, boards: int) -> JobFigures:
    """Return the figures of so many of the boards. Pieces stay those of the order: nobody knows which were cut."""

    def share(quantity: Decimal) -> Decimal:
        return rounded(quantity * cut / boards)

    def share_if_known(quantity: Decimal | None) -> Decimal | None:
        return None if quantity is None else share(quantity)

    def share_of_cuts(cuts: int | None) -> int | None:
        return None if cuts is None else int((Decimal(cuts) * cut / boards).to_integral(ROUND_HALF_UP))

    charged = figures.charged

    materials = tuple(
        replace(each, area_m2=share(each.area_m2), boards_m2=share_if_known(each.boards_m2))
        for each in figures.materials
    )
    part = replace(
        figures,
        parts_m2=sum((each.area_m2 for each in materials), Decimal(0)),
        materials=materials,
        edges=tuple(replace(edge, metres=share(edge.metres)) for edge in figures.edges),
        boards_m2=share_if_known(figures.boards_m2),
        drops_m2=share_if_known(figures.drops_m2),
        cuts=share_of_cuts(figures.cuts),
        machine_minutes=share_if_known(figures.machine_minutes),
        charged=charged
        and Charged(
            share_if_known(charged.boards_m2), share_of_cuts(charged.cuts), share_if_known(charged.machine_minutes)
        ),
    )
    return replace(part, amounts=price(part, rules.prices, basis="solution") if rules.prices else None)
