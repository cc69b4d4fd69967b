"""Reads answers to requests with events: a receipt, or a refusal that may name rows."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus

from ociqueue.states import Category
from ociqueue.uploader.datamanager.reasons import AT_ONCE, TEMPORARY, UNLISTED, at_once
from ociqueue.uploader.datamanager.transport import LONGEST_DELAY, Answer
from ociqueue.uploader.meanings import Meaning, worst
from ociqueue.uploader.results import GATES, Disposition, RowResult
from ociqueue.values.identifiers import hide_hashes

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
# What a status of HTTP means when the answer has no reason that is listed.
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
        found = EVENT.match(self.field)
        return int(found[1]) if found and int(found[1]) < rows else None

    @property
    def meaning(self) -> Meaning:
        found = at_once(self.reason, names_row=EVENT.match(self.field) is not None)
        if self.field.startswith("destinations") and found.disposition not in GATES:
            return UNLISTED if found.disposition == Disposition.FATAL else found
        return found


def read_ingest(answer: Answer, rows: int, *, dry_run: bool) -> list[RowResult]:
    """Return a result for each row of a request."""
    if not answer.ok:
        return read_refusal(answer, rows)
    body = answer.body or {}
    request_id = text_of(body.get("requestId"))
    if dry_run and answer.body is not None:
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


def read_refusal(answer: Answer, rows: int) -> list[RowResult]:
    """Return a result for each row of a refused request; none of them was processed, unless Google failed."""
    error = error_of(answer)
    request_id = request_id_of(error)
    found = violations_of(answer, error)
    named: dict[int, list[FieldViolation]] = defaultdict(list)
    for violation in found:
        at = violation.index(rows)
        if at is not None:
            named[at].append(violation)
    # A fault of the account concerns all rows, whatever row it names.
    whole = [one for one in found if one.meaning.disposition in GATES] or ([] if named else found)
    if not whole:
        others = RowResult(Disposition.UNSENT, REFUSED, Category.TRANSIENT, OTHERS_REFUSED, request_id=request_id)
        lost = any(one.meaning.category == Category.TRANSIENT for one in found)
        results = [result_of(named[at], request_id) if at in named else others for at in range(rows)]
        return [replace(result, ambiguous=lost) for result in results]
    result = result_of(whole, request_id)
    result = replace(
        result,
        retry_after=result.retry_after or answer.retry_after or retry_delay_of(error),
        ambiguous=result.disposition == Disposition.RETRY and result.category == Category.TRANSIENT,
        whole_request=True,
        everywhere=result.category == Category.RATE_LIMIT,
    )
    return [result] * rows


def violations_of(answer: Answer, error: Mapping[str, object]) -> list[FieldViolation]:
    """Return what a refusal says: its field violations, or the reason or status of the whole."""
    message = (
        hide_hashes(text_of(error.get("message"))) or f"Google answered with HTTP status {answer.status} and no reason."
    )
    details = details_of(error)
    reason = next((text_of(detail.get("reason")) for detail in details if detail.get("reason")), "")
    by_status = STATUSES.get(answer.status)
    if answer.status >= FAILED_AT_GOOGLE:
        # Whatever else it says: the request may have been processed.
        return [FieldViolation(reason if AT_ONCE.get(reason) == TEMPORARY else "UNAVAILABLE", message)]
    found = [one for detail in details for one in violations_in(detail.get("fieldViolations"))]
    if len(found) == 1 and not found[0].reason:
        return [replace(found[0], reason=reason or INVALID)]
    if found:
        return [one if one.reason else replace(one, reason=INVALID) for one in found]
    if by_status and reason not in AT_ONCE:
        return [FieldViolation(by_status, f"{reason}: {message}" if reason else message)]
    return [FieldViolation(reason or text_of(error.get("status")) or UNREADABLE, message)]


def violations_in(entries: object) -> Iterator[FieldViolation]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield FieldViolation(
                *(hide_hashes(text_of(entry.get(name))) for name in ("reason", "description", "field"))
            )


def result_of(violations: Sequence[FieldViolation], request_id: str) -> RowResult:
    found = worst(violation.meaning for violation in violations)
    first = next(violation for violation in violations if violation.meaning == found)
    message = " ".join(filter(None, (found.hint, *(describe(violation) for violation in violations[:10]))))
    return RowResult(
        found.disposition,
        first.reason[:64],
        found.category,
        message,
        found.retry_after,
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


def error_of(answer: Answer) -> Mapping[str, object]:
    error = (answer.body or {}).get("error")
    return error if isinstance(error, dict) else {}


def details_of(error: Mapping[str, object]) -> list[Mapping[str, object]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def reason_of(answer: Answer) -> str:
    """Return the name that decides what a refusal means."""
    return violations_of(answer, error_of(answer))[0].reason


def request_id_of(error: Mapping[str, object]) -> str:
    found = next((text_of(detail.get("requestId")) for detail in details_of(error) if detail.get("requestId")), "")
    return found[:LONGEST_ID]


def retry_delay_of(error: Mapping[str, object]) -> timedelta | None:
    for detail in details_of(error):
        if found := DURATION.fullmatch(text_of(detail.get("retryDelay"))):
            return min(timedelta(seconds=int(found[1])), LONGEST_DELAY) or None
    return None


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
