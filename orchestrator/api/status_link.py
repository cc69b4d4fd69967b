"""The endpoint that makes and withdraws the link on which an order's customer sees how far it is."""

from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.errors import ApiError
from kilit.api.openapi import ApiResponse, endpoint
from orchestrator.api.jobs import OneJobView, read_id
from orchestrator.job_links import STATUS_LINK, reaches_customers
from orchestrator.schemas import jobs as messages
from orchestrator.workflow import decisions


class StatusLinkView(OneJobView):
    @endpoint(
        responses={
            200: ApiResponse("The link that there is.", messages.StatusLink),
            201: ApiResponse("A new link.", messages.StatusLink),
        },
        body=messages.StatusLinkRequest,
        errors={409: {"NO_PUBLIC_ADDRESS": "`KILIT_PUBLIC_URL` is no https address, so no customer reaches it."}},
    )
    def post(self, request: Request, body: messages.StatusLinkRequest, pk: str) -> Response:
        """Make a link for the customer.

        Everyone who has it sees how far the order is, without a login, until it is withdrawn. An existing link is
        returned as it is: withdraw it to change whether it shows the amounts.
        """
        if not reaches_customers():
            raise ApiError(409, "NO_PUBLIC_ADDRESS", "KILIT_PUBLIC_URL is no https address.")
        job = decisions.find(read_id(pk))
        is_new = STATUS_LINK.create(job, status_link_prices=body.prices)
        link = {"url": STATUS_LINK.url_of(job), "prices": job.status_link_prices}
        return Response(link, status=201 if is_new else 200)

    @endpoint(responses={204: ApiResponse("It does not work any more.")})
    def delete(self, request: Request, pk: str) -> Response:
        """Withdraw the customer's link.

        Withdrawing it again, or where there is none, changes nothing.
        """
        STATUS_LINK.withdraw(decisions.find(read_id(pk)))
        return Response(status=204)
