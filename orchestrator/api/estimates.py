"""The endpoint that estimates an order."""

from typing import ClassVar

from pydantic import TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.errors import ApiError
from kilit.api.openapi import endpoint
from orchestrator.api.boards import present_board
from orchestrator.api.jobs import INVALID_ORDER, NO_RULES, CuttingView
from orchestrator.cutting.estimates import Estimate, estimate
from orchestrator.cutting.solving import NoOptimiser, OptimiserBusy
from orchestrator.errors import RULE_CODES, Code, JobError
from orchestrator.orders.order import read_order
from orchestrator.planning.saws import refuse_uncuttable
from orchestrator.schemas.figures import JobFigures
from orchestrator.schemas.jobs import OrderEstimate
from orchestrator.schemas.orders import Order
from orchestrator.workflow import decisions

FIGURES = TypeAdapter(JobFigures)
REFUSALS = (*RULE_CODES, Code.OPTIMISER_FAILED)
RETRY_AFTER = 5  # seconds: what a plan takes


class EstimateView(CuttingView):
    errors: ClassVar = {
        **CuttingView.errors,
        **INVALID_ORDER,
        409: {code.value: f"{code.label}: its job would be held or fail." for code in REFUSALS},
        501: {"NO_OPTIMISER": "The optimiser is not installed; the message says why."},
        503: {**NO_RULES[503], "OPTIMISER_BUSY": "Other orders are being planned; try again after `Retry-After`."},
    }

    @endpoint(OrderEstimate, body=Order, scope=KeyScope.ENQUEUE, reads=False, may_retry_after=[503])
    def post(self, request: Request) -> Response:
        """Estimate an order.

        Takes the same body as `POST /jobs`, stores nothing, and returns boards, cuts, the plan and the price within
        seconds, by a plan of the built-in optimiser.
        """
        rules = decisions.require_rules()
        order = read_order(request.data, default_mode=rules.opti_mode_default)
        refuse_uncuttable(order, rules)
        try:
            return Response(present_estimate(estimate(order, rules)))
        except NoOptimiser as error:
            raise ApiError(501, "NO_OPTIMISER", error.message) from None
        except OptimiserBusy as error:
            raise ApiError(503, "OPTIMISER_BUSY", error.message, retry_after=RETRY_AFTER) from None
        except JobError as error:
            if error.code == Code.VALIDATION:
                raise ApiError(422, error.code, error.message, faults=[error.message]) from None
            if error.code == Code.UNKNOWN:
                raise ApiError(503, error.code, error.message, retry_after=RETRY_AFTER) from None
            raise ApiError(409, error.code, error.message) from None


def present_estimate(planned: Estimate) -> OrderEstimate:
    return {
        "boards": planned.boards,
        "boards_at_least": planned.bound,
        "is_optimal": planned.is_optimal,
        "figures": FIGURES.dump_python(planned.figures, mode="json"),
        "patterns": [present_board(pattern) for pattern in planned.plan.patterns],
        "patterns_beyond": planned.plan.is_cut_short,
    }
