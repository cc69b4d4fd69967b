"""A limit on requests per key, the same whichever process answers."""

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kilit.access.models import RateWindow


class KeyThrottle(BaseThrottle):
    """Refuses a key's requests beyond RATE_PER_MINUTE, and says when the next minute begins."""

    seconds: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count the request; people in the console are not counted."""
        if not request.auth:
            return True
        key = getattr(request.auth, "key", request.auth)  # a session counts for the key behind it
        hits, self.seconds = RateWindow.hit(f"key:{key.pk}")
        return hits <= settings.RATE_PER_MINUTE

    def wait(self) -> int | None:
        return self.seconds
