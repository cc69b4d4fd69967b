"""Authentication by API key, in `x-api-key` or `Authorization: Bearer`, and by session; scopes and rate limits.

Rate limits are shared by all processes. Each scope of a key has a limit of its own: a burst of a shop's conversions
never keeps the script from its reports.
"""

from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any

import rest_framework.authentication
from django.conf import settings
from django.db.models import CharField, Q
from django.db.models.functions import Now
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kilit.access.key_scopes import KeyScope, needed_scope
from kilit.access.lockout import client_address, network_of
from kilit.access.models import ApiKey, RateWindow
from kilit.access.models.api_key import digest
from kilit.lock.audit import name_actor
from kilit.lock.fast_sql import CompiledQuery, parameter
from kilit.lock.outages import NOT_WRITABLE, bookkeeping

UPDATE_USED_AT_EVERY = timedelta(minutes=1)
IS_STALE = Q(used_at=None) | Q(used_at__lt=Now() - UPDATE_USED_AT_EVERY)
DIGEST = parameter("digest", CharField())
HELD_KEY = CompiledQuery(lambda: ApiKey.objects.annotate(is_stale=IS_STALE).with_digest(DIGEST))
WRONG_GUESSES_PER_MINUTE = 20
LONGEST_ACTOR = 200


class SessionAuthentication(rest_framework.authentication.SessionAuthentication):
    """DRF's, but with 401 instead of 403 when there is no session."""

    # Both are read by the OpenAPI schema.
    checks_csrf = True
    schemes = ("session",)

    def authenticate_header(self, request: Request) -> str:
        return "Session"


class KeyAuthentication(BaseAuthentication):
    """The user is the key's owner, and `request.auth` the key."""

    # Both are read by the OpenAPI schema.
    is_key = True  # it has scopes and a rate limit
    schemes: tuple[str, ...] = ("key", "bearerKey")

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        text = given_key(request)
        if not text:
            return None
        key = HELD_KEY.first(digest=digest(text))
        if key is None:
            # Its denied requests can be traced if it was a key once.
            if ended := ApiKey.objects.filter(digest=digest(text)).select_related("user").first():
                name_actor(f"ended key:{ended.user.get_username()}")
            raise AuthenticationFailed("This key is unknown, expired or revoked.")
        # At most one write a minute: one for each request would make the row hot.
        if key.is_stale:  # type: ignore[attr-defined]
            with bookkeeping(), suppress(*NOT_WRITABLE):
                ApiKey.objects.filter(IS_STALE, pk=key.pk).update(used_at=Now())
        name_actor(actor_of_key(key))
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"  # also makes DRF respond with 401 instead of 403


def actor_of_key(key: ApiKey, *name: str) -> str:
    return ":".join(["key", key.user.get_username(), *name])[:LONGEST_ACTOR]


def given_key(request: Request) -> str:
    return key_of_headers(request.headers.get("x-api-key", ""), request.headers.get("authorization", ""))


def key_of_headers(key: str, authorization: str) -> str:
    scheme, _, bearer = authorization.strip().partition(" ")
    return key.strip() or (bearer.strip() if scheme.lower() == "bearer" else "")


class MissingScope(PermissionDenied):
    code = "MISSING_SCOPE"

    def __init__(self, needed: str, held: Collection[str]) -> None:
        super().__init__(f"This key does not have the scope {needed}. It has {', '.join(held)}.")
        self.details = {"needed_scope": needed, "key_scopes": list(held)}


class KeyScopePermission(BasePermission):
    def has_permission(self, request: Request, view: object) -> bool:
        if not request.auth:
            return True  # a session, not a key
        if not hasattr(view, (request.method or "").lower()):
            return True  # answered with 405, whatever the key may do
        key: Any = getattr(request.auth, "key", request.auth)  # a session token has the scopes of its key
        needed = needed_scope(request.method or "", view, key.scopes)
        if needed not in key.scopes:
            raise MissingScope(needed, key.scopes)
        if needed == KeyScope.OPERATE:
            name_actor(actor_of_key(key, key.name))  # a person may have several programs that act
        return True


class KeyThrottle(BaseThrottle):
    seconds: int | None = None

    def allow_request(self, request: Request, view: object) -> bool:
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

    def allow_request(self, request: Any, view: object) -> bool:
        hits, self.seconds = RateWindow.current(guesser(request))
        return hits < WRONG_GUESSES_PER_MINUTE

    def wait(self) -> int | None:
        return self.seconds


def count_wrong_guess(request: Any) -> None:
    RateWindow.hit(guesser(request))


def guesser(request: Any) -> str:
    """Return who guesses, of a request to the API or to a page."""
    return f"guess:{network_of(client_address(getattr(request, '_request', request)))}"
