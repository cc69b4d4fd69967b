"""The sweeps' addresses, for whoever keeps a clock of their own; a bearer secret opens them."""

import secrets

from django.conf import settings
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lifecycle.keys.authentication import given_key
from lifecycle.refusals import Refusal
from lifecycle.workers import sweeps


class CronView(APIView):
    """Runs one sweep, by GET or POST as clocks differ."""

    authentication_classes = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "post", "options"]
    sweep = ""

    def get(self, request: Request) -> Response:
        """Run the sweep as the schedule would, and say what it did."""
        if not settings.CRON_SECRET:
            raise Refusal(503, "CRON_OFF", "KILIT_CRON_SECRET is not set, so this address is off.")
        if not secrets.compare_digest(given_key(request).encode(), settings.CRON_SECRET.encode()):
            raise NotAuthenticated("Send the cron secret as Authorization: Bearer.")
        return Response({"ok": True, "result": sweeps.run(self.sweep)})

    post = get

    def get_authenticate_header(self, request: Request) -> str:
        """Make a missing secret 401."""
        return "Bearer"
