"""Calls a Kilit server. Whatever answers becomes JSON, a file, or a `Failure` with a sentence."""

import json
import math
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from kilit_cli import __version__
from kilit_cli.failures import ExitCode, Failure
from kilit_cli.logins import SavedLogin

SILENCE = 60  # seconds that a server may say nothing
LONGEST_ANSWER = 600  # seconds for all of it
LARGEST_JSON, LARGEST_FILE = 20_000_000, 500_000_000
MOST_TRIES, LONGEST_PAUSE = 6, 60
AGAIN = "Try again later."
REFUSALS = {
    401: (ExitCode.NO_ACCESS, "Log in again: kilit login"),
    403: (ExitCode.NO_ACCESS, "Use a key that may do this: kilit login, or KILIT_KEY."),
    404: (ExitCode.NOT_FOUND, "Look it up: kilit find TEXT. What belongs to another site is not found."),
    **dict.fromkeys((429, 503), (ExitCode.UNREACHABLE, AGAIN)),
}
BROKEN: tuple[tuple[type[Exception], str, str], ...] = (
    (ssl.SSLCertVerificationError, "The certificate of {} is not trusted.", "Name its authority's: SSL_CERT_FILE=…"),
    (ssl.SSLError, "{} does not speak HTTPS.", "Log in with its http:// address."),
    (socket.gaierror, "There is no host of the name in {}.", "Check the address: kilit login"),
    (TimeoutError, "{} did not answer in time.", AGAIN),
    (ConnectionRefusedError, "Nothing answers at {}.", "Is Kilit running there (make up)?"),
    (Exception, "The connection to {} broke.", AGAIN),
)
JsonObject = dict[str, Any]


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: object, **options: object) -> None:
        """Follow nothing: the key would be sent to whatever host the answer names."""


class KilitApi:
    def __init__(self, login: SavedLogin) -> None:
        self.address, self._key, self._opener = login.address, login.key, build_opener(NoRedirects)

    def get(self, path: str) -> JsonObject:
        return self._json(path)

    def post(self, path: str, body: object) -> JsonObject:
        return self._json(path, json.dumps(body).encode(), "application/json")

    def post_form(self, path: str, fields: Mapping[str, str], name: str, file: bytes) -> JsonObject:
        """Send a form with a file."""
        boundary = uuid.uuid4().hex
        name = "".join(character for character in name if character.isprintable() and character not in '"\\')
        parts = [(f'name="{field}"', value.encode()) for field, value in fields.items()]
        body = b"".join(
            f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + value + b"\r\n"
            for head, value in [*parts, (f'name="file"; filename="{name}"', file)]
        )
        return self._json(path, body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}")

    def download(self, path: str, *, begins: bytes) -> bytes:
        response = self._open(path)
        content = self._read(response, LARGEST_FILE)
        if response.headers.get("Content-Length", str(len(content))) != str(len(content)):
            raise Failure("The file did not arrive whole.", AGAIN, ExitCode.UNREACHABLE)
        if not content.startswith(begins):
            raise self._strange("with another file than was asked for")
        return content

    def patiently(self, call: Callable[[], JsonObject]) -> JsonObject:
        """Repeat a call that is safe to repeat while the server is busy or out of reach."""
        for number in range(MOST_TRIES - 1):
            try:
                return call()
            except Failure as failure:
                if failure.exit_code != ExitCode.UNREACHABLE:
                    raise
                time.sleep(min(failure.retry_after or 2**number, LONGEST_PAUSE))
        return call()

    def _json(self, path: str, body: bytes | None = None, kind: str = "") -> JsonObject:
        return self._parse(self._read(self._open(path, body, kind), LARGEST_JSON))

    def _open(self, path: str, body: bytes | None = None, kind: str = "") -> HTTPResponse:
        headers = {"x-api-key": self._key, "Accept": "application/json, */*", "User-Agent": f"kilit-cli/{__version__}"}
        request = Request(f"{self.address}{path}", body, headers | ({"Content-Type": kind} if kind else {}))  # noqa: S310
        try:
            response: HTTPResponse = self._opener.open(request, timeout=SILENCE)
        except HTTPError as refusal:
            with refusal:
                raise self._refusal(refusal) from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._broken(error) from None
        return response

    def _read(self, response: HTTPResponse | HTTPError, most: int) -> bytes:
        ends, content = time.monotonic() + LONGEST_ANSWER, bytearray()
        try:
            with response:
                while chunk := response.read1(65_536):
                    content += chunk
                    if len(content) > most or time.monotonic() > ends:
                        raise self._strange("without an end")
        except (OSError, HTTPException, ValueError) as error:
            raise self._broken(error) from None
        return bytes(content)

    def _parse(self, content: bytes) -> JsonObject:
        try:
            parsed = json.loads(content, parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise self._strange(f"with {'a web page' if b'<' in content[:200] else 'something else than JSON'}")
        return parsed

    def _refusal(self, refusal: HTTPError) -> Failure:
        """Return the server's own sentence, or one about what answers in its place."""
        if location := refusal.headers.get("Location"):
            return self._strange(f"with a redirect to {location}")
        try:
            error = self._parse(self._read(refusal, LARGEST_JSON))["error"]
            message, details = str(error["message"]), _details(error)
        except (Failure, LookupError, TypeError):
            return self._strange(f"{refusal.code} {refusal.reason}, but not as Kilit does")
        other = ExitCode.UNREACHABLE if refusal.code >= 500 else ExitCode.REFUSED, ""
        exit_code, advice = REFUSALS.get(refusal.code, other)
        failure = Failure(message, advice, exit_code, error=error)
        failure.details = [detail for detail in details if detail not in message]
        after = refusal.headers.get("Retry-After", "")
        failure.retry_after = int(after) if after.isascii() and after.isdigit() and len(after) < 6 else 0
        return failure

    def _strange(self, what: str) -> Failure:
        advice = "Is this Kilit's address? Is there a proxy between?"
        return Failure(f"{self.address} answered {what}.", advice, ExitCode.UNREACHABLE)

    def _broken(self, error: Exception) -> Failure:
        reason = error.reason if isinstance(error, URLError) else error
        message, advice = next(texts for kind, *texts in BROKEN if isinstance(reason, kind) or kind is Exception)
        return Failure(message.format(self.address), advice, ExitCode.UNREACHABLE)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(digits)
    return number


def _details(error: JsonObject) -> list[str]:
    """Return the invalid fields, the faults, or the jobs that an error names."""
    shown = ("field", "message", "name", "belongs_to", "id")
    entries = [entry for name in ("fields", "faults", "matches") for entry in error.get(name, [])]
    return [
        ": ".join(str(entry[name]) for name in shown if name in entry) if isinstance(entry, dict) else str(entry)
        for entry in entries[:10]
    ]
