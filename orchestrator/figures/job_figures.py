"""The figures of a job: stored when it is finished, computed by the rules in force before that."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from orchestrator.errors import JobError
from orchestrator.figures.amounts import price
from orchestrator.figures.measures import measure
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.figures import JobFigures
from orchestrator.schemas.orders import Order
from orchestrator.schemas.rules import Rules

STORED = TypeAdapter(JobFigures)


def compute(order: Order, rules: Rules, solution: Mapping[str, object] | None = None) -> JobFigures:
    """Return the figures by these rules; without a solution the amounts are an estimate."""
    found = measure(order, rules, solution)
    amounts = price(found, rules.prices, basis="estimate" if solution is None else "solution") if rules.prices else None
    return JobFigures(**vars(found), amounts=amounts)


def figures_of(job: Job) -> JobFigures | None:
    """Return a job's figures, or None while there are no valid rules to compute them by.

    A total that was stored stays. Where none could be, because a price was missing, the amounts are by the rules in
    force.
    """
    stored = STORED.validate_python(job.figures) if job.figures is not None else None
    if stored and stored.amounts and stored.amounts.net is not None:
        return replace(stored, is_fixed=True)
    try:
        rules = current_rules()
    except JobError:
        return stored
    if stored:
        return replace(stored, amounts=price(stored, rules.prices, basis="solution") if rules.prices else None)
    return compute(order_from(job.payload), rules, (job.solution or {}) if job.xml_sha256 else None)


def to_json(figures: JobFigures) -> dict[str, object]:
    """Return the figures as the API and the database have them: decimals as strings."""
    found: dict[str, Any] = STORED.dump_python(figures, mode="json")
    return found
