"""The law of amounts: they are what plan and price list give, to the last hundredth.

It knows the results and how they are rounded, and nothing of how boards were shared and lines were made.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import starmap

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.schemas.figures import Amounts, JobFigures, MissingAmount, board_name
from orchestrator.schemas.orders import plain

logger = logging.getLogger(__name__)

# Running sums are rounded, so a share may be a thousandth off; of a job cut in part it is rounded once more.
CENT, NEAR = Decimal("0.01"), Decimal("0.002")


def lawful(figures: JobFigures, amounts: Amounts, boards: Mapping[str, str]) -> Amounts:
    """Return the amounts, without a total if they do not add up: a wrong one would be charged."""
    fault = next(faults(figures, amounts, boards), "")
    if not fault:
        return amounts
    message = sentences.AMOUNTS_DIFFER % {"what": fault}
    logger.error("the amounts of an order do not add up: %s", fault)
    return replace(amounts, net=None, vat=None, gross=None, missing=(MissingAmount("law", fault, "", message),))


def require_sums(figures: JobFigures) -> None:
    """Raise JobError before anything is cut whose amounts do not add up."""
    for missing in figures.amounts.missing if figures.amounts else ():
        if missing.source == "law":
            raise JobError(Code.OPTIMISER_FAILED, sentences.AMOUNTS_DIFFER % {"what": missing.section})


def faults(figures: JobFigures, amounts: Amounts, boards: Mapping[str, str]) -> Iterator[str]:
    """Yield what does not add up; `boards` are the plan's, in square metres, by material and thickness."""
    if amounts.net is None or amounts.vat is None:
        return
    areas = {
        board_name(material.material_code, plain(material.thickness_mm)): material.boards_m2 or Decimal(0)
        for material in figures.materials
    }
    plan = figures.charged or figures
    if plan.boards_m2 is not None and sum(areas.values()) != plan.boards_m2:
        yield f"{sum(areas.values())} m² ≠ {plan.boards_m2} m²"
    for name in areas.keys() & boards.keys():
        if abs(areas[name] - Decimal(boards[name])) > NEAR:
            yield f"{name}: {areas[name]} m² ≠ {boards[name]} m²"
    bands = {edge.edge: edge.metres for edge in figures.edges}
    charged = {line.name: line.quantity for line in amounts.lines if line.kind in ("boards", "edge")}
    if plan.boards_m2 is not None and charged != areas | bands:
        yield f"{', '.join(sorted(charged))} ≠ {', '.join(sorted(areas | bands))}"
    prices = [(line.quantity, line.unit_price or Decimal(0)) for line in amounts.lines]
    net = sum(starmap(_hundredths, prices))
    vat = _hundredths(Decimal(net) * CENT, amounts.vat_percent / 100)
    if (net, vat, net + vat) != tuple(
        amount and int(amount / CENT) for amount in (amounts.net, amounts.vat, amounts.gross)
    ):
        yield f"{amounts.net} + {amounts.vat} ≠ {amounts.gross}"


def _hundredths(quantity: Decimal, price: Decimal) -> int:
    return int((quantity * price / CENT).to_integral_value(ROUND_HALF_UP))
