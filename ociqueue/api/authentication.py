"""The handshake of older scripts: a key is exchanged for a token that expires."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core import signing
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from kilit.access.authentication import KeyAuthentication, given_key
from kilit.access.models import ApiKey
from kilit.lock.audit import name_actor
from ociqueue.models import Site

LASTS = timedelta(minutes=45)  # longer than a script may run
SALT = "ociqueue.session"


def open_session(key: ApiKey, site: Site) -> tuple[str, datetime]:
    return signing.dumps({"key": key.pk, "site": str(site.pk)}, salt=SALT), timezone.now() + LASTS


@dataclass(frozen=True)
class ScriptSession:
    """What a token grants: one site, with the rights of a key."""

    key: ApiKey
    site_id: str


class SessionTokenAuthentication(KeyAuthentication):
    """Accepts a session token in place of a key."""

    schemes = (*KeyAuthentication.schemes, "sessionToken")

    def authenticate(self, request: Request) -> tuple[Any, ApiKey | ScriptSession] | None:
        try:
            token = signing.loads(given_key(request), salt=SALT, max_age=LASTS)
        except signing.BadSignature:
            return super().authenticate(request)
        # Revoking a key ends its sessions too.
        key = ApiKey.objects.valid().filter(pk=token["key"]).select_related("user").first()
        if key is None:
            raise AuthenticationFailed("The key of this session was revoked.")
        name_actor(f"key:{key.user.get_username()}")
        return key.user, ScriptSession(key, token["site"])
