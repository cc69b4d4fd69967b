"""One HTTP call to the Data Manager API, and what its reply says: a receipt, or a refusal that may name rows.

A call has no retries, no redirects and a time limit, and returns a reply whatever happens.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings

from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.codes.google import REFUSALS, REJECTED_REQUEST, TEMPORARY, refusal_meaning
from ociqueue.states import Category, Disposition
from ociqueue.uploader.google import REFUSED, UNPROVEN, GoogleError, errors_by_row, read_delay, refuse_named, result_of
from ociqueue.uploader.results import GATES, RowResult
from ociqueue.values.identifiers import hide_hashes

LONGEST_REPLY = 16 * 1024 * 1024  # bytes; Google's longest names 2,000 rows
LONGEST_ID = 64
UNREADABLE = "UNREADABLE_ANSWER"
INVALID = "INVALID_ARGUMENT"
FAILED_AT_GOOGLE = 500
# `events[3]`, `events.events[3].currency`
EVENT = re.compile(r"(?:events\.)?events\[([0-9]{1,5})\]")
DURATION = re.compile(r"([0-9]{1,6})(?:\.[0-9]+)?s")
# What a status of HTTP means when the reply has no reason that is listed.
STATUSES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "UNAUTHENTICATED",
    HTTPStatus.FORBIDDEN: "PERMISSION_DENIED",
    HTTPStatus.REQUEST_TIMEOUT: "DEADLINE_EXCEEDED",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "TOO_MANY_EVENTS",
    HTTPStatus.TOO_MANY_REQUESTS: "RESOURCE_EXHAUSTED",
}


@dataclass(frozen=True)
class Reply:
    status: int  # of HTTP
    body: Mapping[str, Any] | None  # None if it is no JSON object
    retry_after: timedelta | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class NoReply(Exception):
    """No answer came in time, or not all of it; the request may have been processed."""


class Transport:
    def __init__(self, credentials: Any) -> None:
        from google.auth.transport.requests import AuthorizedSession

        # Without refresh codes it would send a request again after 401.
        self.session = AuthorizedSession(credentials, refresh_status_codes=())
        self.session.auth = _keep_headers

    def post(self, path: str, body: bytes, *, timeout: float) -> Reply:
        return self._call("POST", path, timeout=timeout, data=body, headers={"Content-Type": "application/json"})

    def get(self, path: str, params: Mapping[str, str], *, timeout: float) -> Reply:
        return self._call("GET", path, timeout=timeout, params=params)

    def _call(self, method: str, path: str, *, timeout: float, **options: Any) -> Reply:
        """Call; raise NoReply, or an error of google-auth if the login failed, when nothing was sent."""
        from requests import RequestException

        end = time.monotonic() + timeout
        url = f"{settings.DATA_MANAGER_ENDPOINT.rstrip('/')}/v1/{path}"
        try:
            with self.session.request(
                method, url, timeout=timeout, allow_redirects=False, stream=True, **options
            ) as response:
                delay = response.headers.get("Retry-After", "")  # in seconds: Google sends no dates
                retry_after = read_delay(int(delay)) if delay.isascii() and delay.isdigit() else None
                return Reply(response.status_code, _read(response, end=end), retry_after)
        except RequestException as error:
            # Not its text, which names addresses and sockets.
            raise NoReply(sentences.NO_REPLY % {"error": type(error).__name__}) from None


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
        if size > LONGEST_REPLY or time.monotonic() > end:
            raise NoReply(sentences.SLOW_REPLY)
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def make_error(reason: str, message: str, field: str = "") -> GoogleError:
    place = EVENT.match(field)
    meaning = refusal_meaning(reason, names_row=place is not None)
    if field.startswith("destinations") and meaning.disposition == Disposition.FATAL:
        meaning = REJECTED_REQUEST
    path = EVENT.sub("", field).lstrip(".")  # the row's place in the request means nothing to a reader
    text = f"{reason[:64]}: {message[:500]}{f' ({path[:200]})' if path else ''}"
    return GoogleError(reason[:64], meaning, text, int(place[1]) if place else None)


def read_ingest(reply: Reply, rows: int, *, dry_run: bool) -> list[RowResult]:
    if not reply.ok:
        return read_refusal(reply, rows)
    body = reply.body or {}
    request_id = text_of(body.get("requestId"))
    if dry_run and reply.body is not None:
        taken = RowResult(Disposition.ACCEPTED, request_id=request_id[:LONGEST_ID])
    elif 0 < len(request_id) <= LONGEST_ID:
        taken = RowResult(Disposition.RECEIVED, request_id=request_id)
    else:
        return unproven(rows, sentences.NO_REQUEST_ID)
    warnings = errors_by_row((make_error(*warning) for warning in violations_in(body.get("fieldWarnings"))), rows)
    return [
        replace(taken, warnings=tuple(warning.text for warning in warnings[at])) if at in warnings else taken
        for at in range(rows)
    ]


def read_refusal(reply: Reply, rows: int) -> list[RowResult]:
    """Return a result for each row of a refused request; Google processed no row, unless it failed itself."""
    error = (reply.body or {}).get("error")
    error = error if isinstance(error, dict) else {}
    details = objects_in(error.get("details"))
    request_id = first_text("requestId", details)[:LONGEST_ID]
    errors = errors_of(reply, error, details)
    # A fault of the account concerns all rows, whatever row it names.
    gates = [one for one in errors if one.meaning.disposition in GATES]
    others = RowResult(Disposition.UNSENT, REFUSED, Category.TRANSIENT, sentences.OTHERS_REFUSED, request_id=request_id)
    if not gates and (results := refuse_named(errors, rows, others)):
        return results
    result = result_of(gates or errors, request_id)
    delays = (DURATION.fullmatch(text_of(detail.get("retryDelay"))) for detail in details)
    delay = next((read_delay(int(match[1])) for match in delays if match), None)
    result = replace(
        result,
        retry_after=result.retry_after or reply.retry_after or delay,
        ambiguous=result.is_temporary,
        whole_request=True,
        everywhere=result.category == Category.RATE_LIMIT,
    )
    return [result] * rows


def errors_of(reply: Reply, error: Mapping[str, Any], details: list[dict[str, Any]]) -> list[GoogleError]:
    """Return what a refusal says: its field violations, or the reason or status of the whole."""
    own_words = hide_hashes(text_of(error.get("message")))
    message = own_words or sentences.NO_HTTP_REASON % {"status": reply.status}
    reason = first_text("reason", details)
    by_status = STATUSES.get(reply.status)
    if reply.status >= FAILED_AT_GOOGLE:
        # Whatever else it says: the request may have been processed.
        return [make_error(reason if REFUSALS.get(reason) == TEMPORARY else "UNAVAILABLE", message)]
    violations = [violation for detail in details for violation in violations_in(detail.get("fieldViolations"))]
    if violations:
        default = reason if reason and len(violations) == 1 else INVALID
        return [make_error(own or default, *rest) for own, *rest in violations]
    if by_status and reason not in REFUSALS:
        return [make_error(by_status, joined(f"{reason}:", message) if reason else message)]
    return [make_error(reason or text_of(error.get("status")) or UNREADABLE, message)]


def violations_in(entries: object) -> Iterator[tuple[str, ...]]:
    """Yield the reason, the description and the field of each."""
    for entry in objects_in(entries):
        yield tuple(hide_hashes(text_of(entry.get(name))) for name in ("reason", "description", "field"))


def unproven(rows: int, message: str, *, code: str = UNPROVEN) -> list[RowResult]:
    """Return results for rows that Google may have taken, without a receipt that proves it."""
    result = RowResult(Disposition.RETRY, code, Category.TRANSIENT, message, ambiguous=True, whole_request=True)
    return [result] * rows


def objects_in(entries: object) -> list[dict[str, Any]]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def first_text(name: str, details: list[dict[str, Any]]) -> str:
    return next((text_of(detail[name]) for detail in details if detail.get(name)), "")


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
