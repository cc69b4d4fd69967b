"""A provider of OpenID Connect on loopback: discovery, keys, codes that work once with PKCE, tokens signed by RS256."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "kilit", "a secret of the client"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Provider:
    """Everyone who comes is logged in as `person`; tests change what it answers."""

    person: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    token_changes: dict[str, Any] = field(default_factory=dict)  # of claims; None leaves one out
    described: dict[str, Any] = field(default_factory=dict)  # changes of the discovery document
    algorithm: str = "RS256"
    key: Any = field(default_factory=new_key)
    signed_by: Any = None  # another key than the published one
    address: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}/keys",
            "userinfo_endpoint": f"{self.address}/userinfo",
            **self.described,
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Return where the browser goes next."""
        assert (query["client_id"], query["response_type"]) == (CLIENT, "code")
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        query = self.codes.pop(form.get("code", ""), None)
        expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if query is None or authorization != f"Basic {expected}" or form["redirect_uri"] != query["redirect_uri"]:
            return None
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if digest != query["code_challenge"]:
            return None
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": query["nonce"]}
        claims = {**claims, **self.person, **self.token_changes}
        given = {name: value for name, value in claims.items() if value is not None}
        signing = {"HS256": SECRET, "none": None}.get(self.algorithm, self.signed_by or self.key)
        token = jwt.encode(given, signing, algorithm=self.algorithm, headers={"kid": "1"})
        return {"access_token": "access", "token_type": "Bearer", "id_token": token}


class ProviderHandler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.provider.asked.append(parts.path)
        match parts.path:
            case "/.well-known/openid-configuration":
                self.answer(self.provider.discovery())
            case "/keys":
                self.answer(self.provider.keys())
            case "/userinfo":
                self.answer({"sub": self.provider.person.get("sub"), **self.provider.userinfo})
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", self.provider.authorize(dict(parse_qsl(parts.query))))
                self.send_header("Content-Length", "0")
                self.end_headers()
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        found = self.provider.token(form, self.headers.get("Authorization", ""))
        self.answer(found or {"error": "invalid_grant"}, status=200 if found else 400)

    def answer(self, found: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def way_back(address: str) -> str:
    """Go to the provider, and return where it sends the browser."""
    parts = urlsplit(httpx.get(address, follow_redirects=False).headers["Location"])
    return f"{parts.path}?{parts.query}"


@contextmanager
def running_provider() -> Iterator[Provider]:
    provider = Provider()
    handler = type("Handler", (ProviderHandler,), {"provider": provider})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
