"""A rate limit per API key, shared by all processes."""

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kilit.access.models import RateWindow


class KeyThrottle(BaseThrottle):
    seconds: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        if not request.auth:
            return True  # a session, not a key
        key = getattr(request.auth, "key", request.auth)  # a session token counts for its key
        hits, self.seconds = RateWindow.hit(f"key:{key.pk}")
        return hits <= settings.RATE_PER_MINUTE

    def wait(self) -> int | None:
        return self.seconds
