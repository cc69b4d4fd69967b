"""A login between our page and the provider's answer, kept in a cookie of the browser that started it.

Strangers may start as many logins as they like, so nothing is stored for one. What makes an answer work once is the
provider's code, which works once, and a row that is stored when its login was verified.
"""

import base64
import hashlib
import secrets
from dataclasses import asdict, dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from kilit.access.models import LoginWindow
from kilit.access.models.login_window import window_name

LIFE = timedelta(seconds=settings.ACCOUNT_LOGIN_TIMEOUT)
PREFIX = "kilit_oidc_"
MOST_COOKIES = 5  # of logins in several tabs; more are of logins that were given up
LONGEST_NEXT = 2000  # characters; a cookie has at most 4096 bytes


@dataclass(frozen=True)
class PendingLogin:
    state: str
    next: str
    nonce: str
    verifier: str

    @classmethod
    def begin(cls, following: str) -> "PendingLogin":
        return cls(secrets.token_urlsafe(16), following, secrets.token_urlsafe(32), secrets.token_urlsafe(64))

    @classmethod
    def of(cls, request: HttpRequest) -> "PendingLogin | None":
        """Return the login of this browser that a request is the answer to."""
        state = request.GET.get("state", "")
        cookie = request.COOKIES.get(f"{PREFIX}{state}", "")
        try:
            return cls(**signing.loads(cookie, salt=_salt(state), max_age=LIFE))
        except signing.BadSignature:
            return None

    def remember(self, request: HttpRequest, response: HttpResponseBase) -> None:
        others = [name for name in request.COOKIES if name.startswith(PREFIX)]
        for name in others if len(others) >= MOST_COOKIES else []:
            response.delete_cookie(name, path=_path(), samesite="Lax")
        response.set_cookie(
            f"{PREFIX}{self.state}",
            signing.dumps(asdict(self), salt=_salt(self.state), compress=True),
            max_age=LIFE,
            path=_path(),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",  # the provider's page leads back to us
        )

    def forget(self, response: HttpResponseBase) -> None:
        response.delete_cookie(f"{PREFIX}{self.state}", path=_path(), samesite="Lax")

    def use(self) -> bool:
        """Return whether this is the first use, by all processes; a copy of the cookie may come again."""
        return LoginWindow.objects.count_below(window_name("oidc", self.state), limit=1, window=LIFE)

    def login_url(self, address: str, redirect_uri: str) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": settings.OIDC_CLIENT_ID,
            "redirect_uri": redirect_uri,
            "scope": settings.OIDC_SCOPES,
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


def _path() -> str:
    return reverse("oidc_start")


def _salt(state: str) -> str:
    return f"kilit.sites.oidc.pending.{state}"
