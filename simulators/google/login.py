"""Google's token server: refresh tokens, and service accounts by a signed assertion."""

import base64
import json
import urllib.parse
from http.server import BaseHTTPRequestHandler
from typing import Protocol

TOKEN = "a-token"  # noqa: S105 - every access token begins with it
SCOPES = "https://www.googleapis.com/auth/adwords https://www.googleapis.com/auth/datamanager"
ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class LoginServer(Protocol):
    login: str  # "ok", "down", or the error that logins get, such as "invalid_grant"
    logins: int


class JsonHandler(BaseHTTPRequestHandler):
    """Answers JSON over kept-alive connections, and logs nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for headers and body
    disable_nagle_algorithm = True

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_json(self, status: int, answer: dict[str, object], headers: dict[str, str] | None = None) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def login_handler(server: LoginServer) -> type[JsonHandler]:
    class Login(JsonHandler):
        def do_POST(self) -> None:
            self.send_json(*token_answer(server, self.read_body()))

    return Login


def token_answer(server: LoginServer, body: bytes) -> tuple[int, dict[str, object]]:
    """Return the answer to a login; the access token names the OAuth client or the service account."""
    server.logins += 1
    form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()}
    if server.login == "down":
        return 503, {"error": "backend_error"}
    if server.login != "ok":
        return 400, {"error": server.login, "error_description": "Token has been expired or revoked."}
    if form.get("refresh_token"):
        return 200, _token(form.get("client_id", ""), SCOPES)
    if form.get("grant_type") == ASSERTION and (claims := _claims(form.get("assertion", ""))):
        return 200, _token(claims["iss"], claims["scope"])
    return 400, {"error": "invalid_request", "error_description": "Missing required parameter."}


def _token(client: str, scope: str) -> dict[str, object]:
    return {"access_token": f"{TOKEN}.{client}", "expires_in": 3600, "token_type": "Bearer", "scope": scope}


def _claims(assertion: str) -> dict[str, str] | None:
    """Return the claims of a service account's assertion; its signature is not verified."""
    try:
        part = assertion.split(".")[1]
        claims: dict[str, str] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError):
        return None
    return claims if claims.get("iss") and claims.get("scope") else None
