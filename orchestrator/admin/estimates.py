"""Estimates in the console: of an order while it is typed, and of a job beside OptiPlanning's solution."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin

from kilit.console.formatting import number, page
from kilit.sentences import stored, translated
from orchestrator.admin.figures import draw, figure_cells
from orchestrator.cutting.estimates import Estimate, estimate
from orchestrator.cutting.solving import missing
from orchestrator.errors import JobError
from orchestrator.figures.in_words import amounts_card
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import valid_rules
from orchestrator.schemas.orders import Order
from orchestrator.schemas.rules import Rules


def missing_text() -> str:
    """Return why there are no estimates on this server; nothing if there are."""
    return _in_words(missing())


def _in_words(text: str) -> str:
    return translated(stored(text))


def estimate_card(order: Order, rules: Rules | None) -> dict[str, object]:
    """Return what a page shows of an estimate, or why there is none."""
    if rules is None:
        return {"refusal": _("The cutting rules cannot be read.")}
    try:
        planned = estimate(order, rules)
    except JobError as error:
        return {"refusal": _in_words(error.message)}
    return {
        "plan": draw("", planned.plan, chosen=_("Estimate")),
        "card": amounts_card(planned.figures, [_words(planned)]),
    }


def _words(planned: Estimate) -> str:
    boards = ngettext("%(number)s board", "%(number)s boards", planned.boards) % {"number": number(planned.boards)}
    if planned.is_optimal:
        return _("By a plan with %(boards)s; no plan takes fewer.") % {"boards": boards}
    least = number(planned.bound)
    return _("By a plan with %(boards)s; at least %(least)s are needed.") % {"boards": boards, "least": least}


def estimate_page(model_admin: ModelAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    """Show the estimate of a job, and the figures of its solution beside it."""
    card = estimate_card(order_from(job.payload), valid_rules())
    if job.xml_sha256 and (plan := card.get("plan")):
        rows = [*plan.rows, (_("Solution"), figure_cells(job.solution or {}))]  # type: ignore[attr-defined]
        card["plan"] = replace(plan, rows=rows)  # type: ignore[type-var]
    template = "admin/orchestrator/job_estimate.html"
    return page(model_admin, request, template, title=_("Estimate"), job=job, estimate=card)
