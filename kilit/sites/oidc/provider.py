"""What is asked of the provider: its addresses, and the claims about a person, verified before they are used."""

import base64
import json
import secrets
import threading
from typing import Any
from urllib.parse import urlencode

import jwt
from django.conf import settings
from django.core.cache import cache

from kilit.sites.oidc.client import TURNS, NotAskedError, ProviderError, Turn
from kilit.sites.oidc.pending import PendingLogin

# Signatures by a key of the provider. Those by the shared secret (HS256), or none, are not accepted.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
CLOCKS_OFF = 60  # seconds that the provider's clock may differ
KNOWN_FOR = 600  # seconds; else every visitor could have us ask the provider
DESCRIBING = threading.Lock()  # held by the one thread that asks the provider for its description


class UnverifiedError(Exception):
    """The answer may come from someone else, or be meant for someone else."""


def login_url(pending: PendingLogin, redirect_uri: str) -> str:
    described = _known()
    if described is None:
        with TURNS.take() as turn:
            described = _describe(turn)
    return pending.login_url(_endpoint(described, "authorization_endpoint"), redirect_uri)


def claims_of(pending: PendingLogin, code: str, redirect_uri: str) -> dict[str, object]:
    """Exchange the code for claims about the person; those of the signed token come first."""
    with TURNS.take() as turn:
        described = _known() or _describe(turn)
        tokens = _tokens(turn, described, _form(described, pending, code, redirect_uri))
        claims = _verified(turn, described, str(tokens.get("id_token", "")), pending.nonce)
        if settings.OIDC_GROUP_CLAIM in claims or "userinfo_endpoint" not in described:
            return claims
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        more = _read(*turn.send("GET", _endpoint(described, "userinfo_endpoint"), headers=bearer))
    if more.get("sub") != claims["sub"]:
        raise UnverifiedError("the user info is of someone else")
    return {**more, **claims}


def _known() -> dict[str, Any] | None:
    described: dict[str, Any] | None = cache.get(_cache_key())
    return described


def _describe(turn: Turn) -> dict[str, object]:
    """Ask the provider for its description of itself, in one thread at a time; any failure is remembered."""
    if not DESCRIBING.acquire(blocking=False):
        raise NotAskedError("another thread asks for its description")
    try:
        described = _known() or _description(turn)  # another thread may have asked a moment ago
    except ProviderError:
        turn.turns.pause()
        raise
    finally:
        DESCRIBING.release()
    return described


def _description(turn: Turn) -> dict[str, object]:
    issuer = settings.OIDC_ISSUER.rstrip("/")
    described = _read(*turn.send("GET", f"{issuer}/.well-known/openid-configuration"))
    if str(described.get("issuer", "")).rstrip("/") != issuer:
        raise ProviderError("the issuer calls itself differently")
    cache.set(_cache_key(), described, KNOWN_FOR)
    return described


def _form(described: dict[str, object], pending: PendingLogin, code: str, redirect_uri: str) -> dict[str, object]:
    """Return the body and the headers of the request for tokens, with the client's secret in one of them."""
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": pending.verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    identity, secret = settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET
    methods = described.get("token_endpoint_auth_methods_supported")
    if isinstance(methods, list) and "client_secret_post" in methods:
        fields |= {"client_id": identity, "client_secret": secret}
    else:
        headers["Authorization"] = f"Basic {base64.b64encode(f'{identity}:{secret}'.encode()).decode()}"
    return {"body": urlencode(fields).encode(), "headers": headers}


def _tokens(turn: Turn, described: dict[str, object], form: dict[str, Any]) -> dict[str, object]:
    tokens = _read(*turn.send("POST", _endpoint(described, "token_endpoint"), **form))
    if not isinstance(tokens.get("access_token"), str):
        raise ProviderError("the answer has no token")
    return tokens


def _verified(turn: Turn, described: dict[str, Any], token: str, nonce: str) -> dict[str, object]:
    try:
        key = _key(turn, described, jwt.get_unverified_header(token).get("kid"))
        claims: dict[str, object] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=described["issuer"],
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


def _key(turn: Turn, described: dict[str, object], key_id: str | None) -> Any:
    keys = jwt.PyJWKSet.from_dict(_read(*turn.send("GET", _endpoint(described, "jwks_uri")))).keys
    for key in keys:
        if key.key_id == key_id:
            return key
    raise jwt.InvalidTokenError


def _endpoint(described: dict[str, object], name: str) -> str:
    address = described.get(name)
    if not isinstance(address, str) or not address:
        raise ProviderError(f"the provider does not name its {name}")
    return address


def _read(status: int, content: bytes) -> dict[str, object]:
    if status not in (200, 201):
        raise ProviderError(f"it answered {status}")
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderError("the answer is no JSON") from error
    if not isinstance(answer, dict):
        raise ProviderError("the answer is no object")
    return answer


def _cache_key() -> str:
    return f"kilit.oidc.{settings.OIDC_ISSUER}"
