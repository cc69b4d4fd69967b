"""The verbs over REST: `POST /api/ask/<verb>`, and what a caller may use."""

from typing import Any, ClassVar, cast

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import kilit
from kilit.access.models import ApiKey
from kilit.api.input_model import InputModel
from kilit.api.openapi import ApiResponse, endpoint
from kilit.api.presenter import present
from kilit.ask import acting, reading  # noqa: F401 - they declare the verbs
from kilit.ask.schemas import AskOffer, AskVerb
from kilit.ask.verbs import VERBS, Caller, Verb, offered

NOT_FOUND = {404: {"NOT_FOUND": "There is no such queue, job, error group or site among those that the caller sees."}}
CONFLICTS = {
    "AMBIGUOUS": "The text finds several jobs or sites; `matches` names them.",
    "OTHER_QUEUE": "Some of the ids are of another queue than the one named; `ids` lists them. Nothing was changed.",
    "TOO_MANY": "More than 1,000 jobs match; nothing was changed.",
    "UNAVAILABLE_NOW": "It cannot be done now, whatever the jobs are; nothing was changed.",
}


def caller_of(request: Request) -> Caller:
    return Caller(request._request, cast("ApiKey | None", request.auth))


class AskView(APIView):
    tag = "Ask"
    errors: ClassVar[Any] = {403: {"FORBIDDEN": "The user of the key may not do this."}}


class OfferView(AskView):
    @endpoint(AskOffer)
    def get(self, request: Request) -> Response:
        """List what you may use.

        The queues that this key or session sees, and the verbs that it may use.
        """
        caller = caller_of(request)
        offer = {
            "user": caller.user.get_username(),
            "key": str(caller.key) if caller.key else None,
            "scopes": caller.key.scopes if caller.key else [],
            "version": kilit.__version__,
            "queues": {queue.table.queue: str(queue.title) for queue in caller.queues()},
            "verbs": [present(verb, AskVerb) for verb in offered(caller)],
        }
        return Response(offer)


def view_of(verb: Verb) -> type[AskView]:
    def post(_self: AskView, request: Request, body: InputModel) -> Response:
        return Response(verb.answer(caller_of(request), body))

    post.__doc__ = f"{verb.title}.\n\n{verb.description}"
    response = ApiResponse(verb.output.__doc__, verb.output)
    described = endpoint(response, body=verb.body, scope=verb.scope.value, errors={409: CONFLICTS})
    errors = AskView.errors | NOT_FOUND
    return type(f"{verb.name}_view", (AskView,), {"post": described(post), "errors": errors})


urlpatterns = [
    path("api/ask", OfferView.as_view()),
    *(path(f"api/ask/{verb.name}", view_of(verb).as_view()) for verb in VERBS.values()),
]
