"""One HTTP call to the Data Manager API, and what its reply says: a receipt, or a refusal that may name rows.

A call has no retries, no redirects and a time limit, and returns a reply whatever happens.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings

from ociqueue.codes.google import REFUSALS, REJECTED_REQUEST, TEMPORARY, Meaning, refusal_meaning, worst
from ociqueue.states import Category, Disposition
from ociqueue.uploader.results import GATES, RowResult
from ociqueue.values.identifiers import hide_hashes

LONGEST_REPLY = 16 * 1024 * 1024  # bytes; Google's longest names 2,000 rows
LONGEST_DELAY = timedelta(days=1)  # a probe is sent once a day, whatever delay Google asks for


@dataclass(frozen=True)
class Reply:
    status: int  # of HTTP
    body: Mapping[str, Any] | None  # None if it is no JSON object
    retry_after: timedelta | None = field(default=None)

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
                delay = _delay(response.headers.get("Retry-After", ""))
                return Reply(response.status_code, _read(response, end=end), delay)
        except RequestException as error:
            # Not its text, which names addresses and sockets.
            raise NoReply(f"Google's Data Manager API did not answer ({type(error).__name__}).") from None


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
            raise NoReply("Google's Data Manager API did not finish its answer in time.")
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


LONGEST_ID = 64
REFUSED = "REQUEST_REFUSED"  # the code of a row that was in a refused request and was not named
UNPROVEN = "UNPROVEN_ANSWER"
UNREADABLE = "UNREADABLE_ANSWER"
INVALID = "INVALID_ARGUMENT"
OTHERS_REFUSED = "Google refused the request for other rows."
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
class FieldViolation:
    """One error of a refusal: a reason, and the field that it is about."""

    reason: str
    message: str
    field: str = ""

    def index(self, rows: int) -> int | None:
        match = EVENT.match(self.field)
        return int(match[1]) if match and int(match[1]) < rows else None

    @property
    def meaning(self) -> Meaning:
        meaning = refusal_meaning(self.reason, names_row=EVENT.match(self.field) is not None)
        if self.field.startswith("destinations") and meaning.disposition not in GATES:
            return REJECTED_REQUEST if meaning.disposition == Disposition.FATAL else meaning
        return meaning


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
        return unproven(rows, "Google took the request, but its answer has no request id to ask for the verdict.")
    warnings: dict[int, list[str]] = defaultdict(list)
    for warning in violations_in(body.get("fieldWarnings")):
        at = warning.index(rows)
        if at is not None:
            warnings[at].append(describe(warning))
    return [replace(taken, warnings=tuple(warnings[at])) if at in warnings else taken for at in range(rows)]


def read_refusal(reply: Reply, rows: int) -> list[RowResult]:
    """Return a result for each row of a refused request; Google processed no row, unless it failed itself."""
    error = error_of(reply)
    request_id = request_id_of(error)
    violations = violations_of(reply, error)
    named: dict[int, list[FieldViolation]] = defaultdict(list)
    for violation in violations:
        at = violation.index(rows)
        if at is not None:
            named[at].append(violation)
    # A fault of the account concerns all rows, whatever row it names.
    gates = [violation for violation in violations if violation.meaning.disposition in GATES]
    whole = gates or ([] if named else violations)
    if not whole:
        others = RowResult(Disposition.UNSENT, REFUSED, Category.TRANSIENT, OTHERS_REFUSED, request_id=request_id)
        lost = any(violation.meaning.category == Category.TRANSIENT for violation in violations)
        results = [result_of(named[at], request_id) if at in named else others for at in range(rows)]
        return [replace(result, ambiguous=lost) for result in results]
    result = result_of(whole, request_id)
    result = replace(
        result,
        retry_after=result.retry_after or reply.retry_after or retry_delay_of(error),
        ambiguous=result.disposition == Disposition.RETRY and result.category == Category.TRANSIENT,
        whole_request=True,
        everywhere=result.category == Category.RATE_LIMIT,
    )
    return [result] * rows


def violations_of(reply: Reply, error: Mapping[str, Any]) -> list[FieldViolation]:
    """Return what a refusal says: its field violations, or the reason or status of the whole."""
    message = (
        hide_hashes(text_of(error.get("message"))) or f"Google answered with HTTP status {reply.status} and no reason."
    )
    details = details_of(error)
    reason = next((text_of(detail.get("reason")) for detail in details if detail.get("reason")), "")
    by_status = STATUSES.get(reply.status)
    if reply.status >= FAILED_AT_GOOGLE:
        # Whatever else it says: the request may have been processed.
        return [FieldViolation(reason if REFUSALS.get(reason) == TEMPORARY else "UNAVAILABLE", message)]
    violations = [violation for detail in details for violation in violations_in(detail.get("fieldViolations"))]
    if len(violations) == 1 and not violations[0].reason:
        return [replace(violations[0], reason=reason or INVALID)]
    if violations:
        return [violation if violation.reason else replace(violation, reason=INVALID) for violation in violations]
    if by_status and reason not in REFUSALS:
        return [FieldViolation(by_status, f"{reason}: {message}" if reason else message)]
    return [FieldViolation(reason or text_of(error.get("status")) or UNREADABLE, message)]


def violations_in(entries: object) -> Iterator[FieldViolation]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield FieldViolation(
                *(hide_hashes(text_of(entry.get(name))) for name in ("reason", "description", "field"))
            )


def result_of(violations: Sequence[FieldViolation], request_id: str) -> RowResult:
    meaning = worst(violation.meaning for violation in violations)
    first = next(violation for violation in violations if violation.meaning == meaning)
    message = " ".join(filter(None, (meaning.hint, *(describe(violation) for violation in violations[:10]))))
    return RowResult(
        meaning.disposition,
        first.reason[:64],
        meaning.category,
        message,
        meaning.retry_after,
        request_id=request_id,
    )


def describe(violation: FieldViolation) -> str:
    """Return Google's own words; the row's place in the request means nothing to a reader."""
    path = EVENT.sub("", violation.field).lstrip(".")
    where = f" ({path[:200]})" if path else ""
    return f"{violation.reason[:64]}: {violation.message[:500]}{where}"


def unproven(rows: int, message: str, *, code: str = UNPROVEN) -> list[RowResult]:
    """Return results for rows that Google may have taken, without a receipt that proves it."""
    result = RowResult(Disposition.RETRY, code, Category.TRANSIENT, message, ambiguous=True, whole_request=True)
    return [result] * rows


def error_of(reply: Reply) -> Mapping[str, Any]:
    error = (reply.body or {}).get("error")
    return error if isinstance(error, dict) else {}


def details_of(error: Mapping[str, object]) -> list[Mapping[str, object]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def request_id_of(error: Mapping[str, object]) -> str:
    request_id = next((text_of(detail.get("requestId")) for detail in details_of(error) if detail.get("requestId")), "")
    return request_id[:LONGEST_ID]


def retry_delay_of(error: Mapping[str, object]) -> timedelta | None:
    for detail in details_of(error):
        if match := DURATION.fullmatch(text_of(detail.get("retryDelay"))):
            return min(timedelta(seconds=int(match[1])), LONGEST_DELAY) or None
    return None


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
