"""Authentication by API key, in `x-api-key` or `Authorization: Bearer`, and by a person's session."""

from datetime import timedelta
from typing import Any

import rest_framework.authentication
from django.db.models import Q
from django.db.models.functions import Now
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from kilit.access.models import ApiKey
from kilit.access.models.api_key import digest
from kilit.lock.audit import name_actor

NOTE_USE_EVERY = timedelta(minutes=1)


class SessionAuthentication(rest_framework.authentication.SessionAuthentication):
    """A person's session; without one the answer is 401, not DRF's 403."""

    checks_csrf = True  # the API's schema reads this

    def authenticate_header(self, request: Request) -> str:
        return "Session"


class KeyAuthentication(BaseAuthentication):
    """The user is the key's owner, and `request.auth` the key."""

    is_rate_limited = True  # the API's schema reads this

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Return the key's user, nothing without a key, and refuse a key that opens nothing."""
        text = given_key(request)
        if not text:
            return None
        stale = Q(used_at=None) | Q(used_at__lt=Now() - NOTE_USE_EVERY)
        key = ApiKey.objects.annotate(is_stale=stale).holding(text)
        if key is None:
            name_owner_of_ended(text)
            raise AuthenticationFailed("This key is unknown, expired or revoked.")
        # A write for each request would make the key's row hot, and even asking for one takes a request longer.
        if key.is_stale:  # type: ignore[attr-defined]
            ApiKey.objects.filter(stale, pk=key.pk).update(used_at=Now())
        name_actor(f"key:{key.user.get_username()}")
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        """Tell clients without a key what to send; this also makes the answer 401 rather than 403."""
        return "Bearer"


def name_owner_of_ended(text: str) -> None:
    """Name who still uses a key that expired or was revoked: somebody has to be told."""
    key = ApiKey.objects.filter(digest=digest(text)).select_related("user").first()
    if key:
        name_actor(f"ended key:{key.user.get_username()}")


def given_key(request: Request) -> str:
    """Return the key a request carries, if any."""
    header = request.headers.get("x-api-key", "").strip()
    scheme, _, bearer = request.headers.get("authorization", "").strip().partition(" ")
    return header or (bearer.strip() if scheme.lower() == "bearer" else "")
