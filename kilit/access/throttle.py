"""Rate limits, shared by all processes: of requests per API key and scope, and of wrong guesses per client address.

Each scope of a key has a limit of its own: a burst of a shop's conversions never keeps the script from its reports.
"""

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kilit.access.key_scopes import KeyScope, needed_scope
from kilit.access.lockout import client_address, network_of
from kilit.access.models import RateWindow
from kilit.lock.outages import NOT_WRITABLE

WRONG_GUESSES_PER_MINUTE = 20


class KeyThrottle(BaseThrottle):
    seconds: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        if not request.auth:
            return True  # a session, not a key
        key: Any = getattr(request.auth, "key", request.auth)  # a session token counts for its key
        scope = needed_scope(request.method or "", view, key.scopes)
        try:
            hits, self.seconds = RateWindow.hit(f"key:{key.pk}:{scope}")
        except NOT_WRITABLE:
            return True  # nothing can be counted, and what only reads still works
        return hits <= (settings.ADMIN_RATE_PER_MINUTE if scope == KeyScope.ADMIN else settings.RATE_PER_MINUTE)

    def wait(self) -> int | None:
        return self.seconds


class GuessThrottle(BaseThrottle):
    """Refuses an address after too many wrong guesses of a secret in this minute, right ones included.

    The view counts the wrong ones with `count_wrong_guess`.
    """

    seconds: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        hits, self.seconds = RateWindow.current(guesser(request))
        return hits < WRONG_GUESSES_PER_MINUTE

    def wait(self) -> int | None:
        return self.seconds


def count_wrong_guess(request: Request) -> None:
    RateWindow.hit(guesser(request))


def guesser(request: Request) -> str:
    return f"guess:{network_of(client_address(request._request))}"
