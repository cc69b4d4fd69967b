"""What is asked of the provider: its addresses, and the claims about a person, verified before they are used."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from requests import RequestException

# Signatures by a key of the provider. Those by the shared secret (HS256), or none, are not accepted.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
CLOCKS_OFF = 60  # seconds that the provider's clock may differ
KNOWN_FOR = 600  # seconds; else every visitor could have us ask the provider


class ProviderError(Exception):
    """The provider could not be reached, or did not answer as OpenID Connect says."""


class UnverifiedError(Exception):
    """The answer may come from someone else, or be meant for someone else."""


@dataclass(frozen=True)
class PendingLogin:
    """What a login remembers in its session while the browser is at the provider."""

    next: str
    nonce: str
    verifier: str

    @classmethod
    def begin(cls, following: str) -> "PendingLogin":
        return cls(following, secrets.token_urlsafe(32), secrets.token_urlsafe(64))

    def login_url(self, state: str, redirect_uri: str) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": settings.OIDC_CLIENT_ID,
            "redirect_uri": redirect_uri,
            "scope": settings.OIDC_SCOPES,
            "state": state,
            "nonce": self.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        address = _endpoint("authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"

    def claims(self, request: HttpRequest, code: str, redirect_uri: str) -> dict[str, Any]:
        """Exchange the code for claims about the person; those of the signed token come first."""
        methods = discovery().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client = OAuth2Client(
            request,
            settings.OIDC_CLIENT_ID,
            settings.OIDC_CLIENT_SECRET,
            "POST",
            _endpoint("token_endpoint"),
            redirect_uri,
            basic_auth="client_secret_post" not in methods,
        )
        try:
            tokens = client.get_access_token(code, pkce_code_verifier=self.verifier)
        except (OAuth2Error, RequestException, ValueError, LookupError) as error:
            raise ProviderError(f"no token: {type(error).__name__}") from error
        claims = _verified(str(tokens.get("id_token", "")), self.nonce)
        if settings.OIDC_GROUP_CLAIM in claims or "userinfo_endpoint" not in discovery():
            return claims
        more = _fetch(_endpoint("userinfo_endpoint"), headers={"Authorization": f"Bearer {tokens['access_token']}"})
        if more.get("sub") != claims["sub"]:
            raise UnverifiedError("the user info is of someone else")
        return {**more, **claims}


def discovery() -> dict[str, Any]:
    """Return the provider's description of itself."""
    key = f"kilit.oidc.{settings.OIDC_ISSUER}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = _fetch(f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration")
        if str(found.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER.rstrip("/"):
            raise ProviderError("the issuer calls itself differently")
        cache.set(key, found, KNOWN_FOR)
    return found


def _verified(token: str, nonce: str) -> dict[str, Any]:
    try:
        key = _key(jwt.get_unverified_header(token).get("kid"))
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=discovery()["issuer"],
            leeway=CLOCKS_OFF,
            options={"require": REQUIRED},
        )
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise UnverifiedError(f"the token is not valid: {type(error).__name__}") from error
    if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise UnverifiedError("the token belongs to another login")
    if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
        raise UnverifiedError("the token is for another client")
    return claims


def _key(key_id: str | None) -> Any:
    keys = jwt.PyJWKSet.from_dict(_fetch(_endpoint("jwks_uri"))).keys
    for key in keys:
        if key.key_id == key_id:
            return key
    raise jwt.InvalidTokenError


def _endpoint(name: str) -> str:
    address = discovery().get(name)
    if not isinstance(address, str) or not address:
        raise ProviderError(f"the provider does not name its {name}")
    return address


def _fetch(address: str, **options: Any) -> dict[str, Any]:
    try:
        with get_adapter().get_requests_session() as session:
            answer = session.get(address, **options)
            answer.raise_for_status()
            found = answer.json()
    except (RequestException, ValueError) as error:
        raise ProviderError(f"{address}: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise ProviderError(f"{address}: no object")
    return found
