"""One HTTP call to the Data Manager API: no retries, no redirects, a time limit, and an answer whatever happens."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings

LONGEST_ANSWER = 16 * 1024 * 1024  # bytes; Google's longest names 2,000 rows
LONGEST_DELAY = timedelta(days=1)  # a probe is sent once a day, whatever delay Google asks for


@dataclass(frozen=True)
class Answer:
    status: int  # of HTTP
    body: Mapping[str, Any] | None  # None if it is no JSON object
    retry_after: timedelta | None = field(default=None)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class NoAnswer(Exception):
    """No answer came in time, or not all of it; the request may have been processed."""


class Transport:
    def __init__(self, credentials: Any) -> None:
        from google.auth.transport.requests import AuthorizedSession

        # Without refresh codes it would send a request again after 401.
        self.session = AuthorizedSession(credentials, refresh_status_codes=())
        self.session.auth = _keep_headers

    def post(self, path: str, body: bytes, *, timeout: float) -> Answer:
        return self._call("POST", path, timeout=timeout, data=body, headers={"Content-Type": "application/json"})

    def get(self, path: str, params: Mapping[str, str], *, timeout: float) -> Answer:
        return self._call("GET", path, timeout=timeout, params=params)

    def _call(self, method: str, path: str, *, timeout: float, **options: object) -> Answer:
        """Call; raise NoAnswer, or an error of google-auth if the login failed, when nothing was sent."""
        from requests import RequestException

        end = time.monotonic() + timeout
        url = f"{settings.DATA_MANAGER_ENDPOINT.rstrip('/')}/v1/{path}"
        try:
            with self.session.request(
                method, url, timeout=timeout, allow_redirects=False, stream=True, **options
            ) as response:
                delay = _delay(response.headers.get("Retry-After", ""))
                return Answer(response.status_code, _read(response, end=end), delay)
        except RequestException as error:
            # Not its text, which names addresses and sockets.
            raise NoAnswer(f"Google's Data Manager API did not answer ({type(error).__name__}).") from None


def _keep_headers(request: Any) -> Any:
    """Without this, `requests` replaces our Authorization header by what a .netrc file has for the host."""
    return request


def _read(response: Any, *, end: float) -> Mapping[str, Any] | None:
    """Read the body until then; a timeout of `requests` is for each read, not for all of them."""
    parts = []
    size = 0
    for part in response.iter_content(64 * 1024):
        parts.append(part)
        size += len(part)
        if size > LONGEST_ANSWER or time.monotonic() > end:
            raise NoAnswer("Google's Data Manager API did not finish its answer in time.")
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _delay(text: str) -> timedelta | None:
    """Return a Retry-After in seconds; Google sends no dates."""
    if not (text.isascii() and text.isdigit()):
        return None
    return min(timedelta(seconds=min(int(text), 10**6)), LONGEST_DELAY) or None
