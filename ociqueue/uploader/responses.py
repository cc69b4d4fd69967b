"""Reads Google's answers: 200 is not success, and what is not proven is not believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from ociqueue.states import Category
from ociqueue.uploader.errors import Meaning, classify, worst
from ociqueue.uploader.results import GATES, CredentialsRefused, Disposition, Outcome

UNPROVEN = "UNPROVEN_ANSWER"
LONGEST_DELAY = 24 * 60 * 60  # seconds; whatever Google asks for, a probe goes out once a day
QUOTA_OF_PROJECT = 3  # QuotaErrorDetails.QuotaRateScope.DEVELOPER
UNSENDABLE = ("Invalid metadata", "Illegal header")
PLUGIN_FAILED = "Getting metadata from plugin failed"
# What Google's login says when waiting does not help.
LOGIN_REFUSALS = ("invalid_grant", "unauthorized_client", "invalid_client", "invalid_scope", "deleted_client")


@dataclass(frozen=True)
class Fault:
    """One error of an answer: its name and family, where it points, and Google's words."""

    name: str
    family: str
    message: str
    index: int | None
    retry_after: timedelta | None = None
    everywhere: bool = False

    def points_at_one_of(self, rows: int) -> bool:
        """Tell whether it names a row of the request."""
        return self.index is not None and 0 <= self.index < rows

    @property
    def meaning(self) -> Meaning:
        return classify(self.name, family=self.family)


def answered(response: Any, rows: int, *, request_id: str, dry_run: bool) -> list[Outcome]:
    """Read an answer of success: row by row, because any of them may have failed."""
    status = response.partial_failure_error
    faults = list(faults_of(failures_in(status)))
    if not faults and (status.code or status.details):
        faults = [Fault("UNREADABLE_ERROR", "", status.message or "An error that says nothing.", None)]
    if any(not fault.points_at_one_of(rows) for fault in faults):
        return _nothing_proven(faults, rows, request_id=request_id)
    told: dict[int, list[Fault]] = {}
    for fault in faults:
        told.setdefault(fault.index or 0, []).append(fault)
    accepted = Outcome(Disposition.ACCEPTED, request_id=request_id)
    if dry_run:  # Google gives no results for what it only validates
        return [_outcome(told[at], request_id) if at in told else accepted for at in range(rows)]
    if len(response.results) != rows:
        miscounted = _unproven(f"Google answered {len(response.results)} results for {rows} rows.", request_id)
        return [replace(miscounted, whole_request=True)] * rows
    missing = _unproven("Google answered neither a result nor an error for this row.", request_id)
    outcomes = [
        _outcome(told[at], request_id) if at in told else accepted if response.results[at].ByteSize() else missing
        for at in range(rows)
    ]
    # An account that takes some rows is not at fault: then it is about the row, which tries again and ends.
    return [_about_the_row(outcome) for outcome in outcomes] if accepted in outcomes else outcomes


def _about_the_row(outcome: Outcome) -> Outcome:
    return replace(outcome, disposition=Disposition.RETRY) if outcome.disposition == Disposition.GATE else outcome


def refused_request(failure: Any, rows: int, *, request_id: str) -> list[Outcome]:
    """Read a refusal of the whole request: rows it names have their own outcome, the others were not looked at."""
    faults = list(faults_of([failure]))
    named: dict[int, list[Fault]] = {}
    for fault in faults:
        if fault.points_at_one_of(rows):
            named.setdefault(fault.index or 0, []).append(fault)
    if named:
        unsent = Outcome(Disposition.UNSENT, code="REQUEST_REFUSED", category=Category.TRANSIENT, request_id=request_id)
        told = [_outcome(named[at], request_id) if at in named else unsent for at in range(rows)]
        # A problem of Google's own is no refusal, whatever row it names: any of them may have been applied.
        lost = any(fault.meaning.category == Category.TRANSIENT for fault in faults)
        return [replace(outcome, ambiguous=lost) for outcome in told]
    whole = _outcome(faults or [Fault("UNKNOWN_FAILURE", "", "Google refused without a reason.", None)], request_id)
    return [replace(whole, whole_request=True, ambiguous=whole.category == Category.TRANSIENT)] * rows


def broken_request(error: Any, rows: int) -> list[Outcome]:
    """Read an error of the transport; what Google attached to it says more than its code does."""
    code = error.grpc_status_code.name if getattr(error, "grpc_status_code", None) else "UNKNOWN"
    request_id, failures = _attached(error)
    if failures:
        refused = refused_request(failures[0], rows, request_id=request_id)
        delay = _retry_delay(error)
        return [replace(outcome, retry_after=outcome.retry_after or delay) for outcome in refused]
    message = str(error.message if hasattr(error, "message") else error)
    if any(word in message for word in UNSENDABLE) or (
        PLUGIN_FAILED in message and any(word in message for word in LOGIN_REFUSALS)
    ):
        # A login that was revoked meanwhile, or cannot be written in a header, looks like an outage; nothing was sent.
        found, ambiguous = classify("UNAUTHENTICATED", family="grpc"), False
    else:
        found = classify(code, family="grpc")
        ambiguous = found.category == Category.TRANSIENT
    told = Outcome(
        found.disposition,
        code=code,
        category=found.category,
        message=" ".join(filter(None, (found.hint, message))),
        retry_after=_retry_delay(error),
        ambiguous=ambiguous,
        request_id=request_id,
        whole_request=True,
    )
    return [told] * rows


def failures_in(status: Any) -> list[Any]:
    """Return the failures that a status carries."""
    from google.ads.googleads.v26.errors.types.errors import GoogleAdsFailure  # noqa: PLC0415

    failures = []
    for detail in status.details:
        if detail.type_url.endswith("GoogleAdsFailure"):
            failure = GoogleAdsFailure.pb(GoogleAdsFailure())
            failure.ParseFromString(detail.value)
            failures.append(failure)
    return failures


def faults_of(failures: Iterable[Any]) -> Iterator[Fault]:
    from google.ads.googleads.util import convert_proto_plus_to_protobuf  # noqa: PLC0415

    for failure in failures:
        # An exception carries a wrapped message even where plain ones were asked for.
        for error in convert_proto_plus_to_protobuf(failure).errors:
            family, name = name_of(error.error_code)
            message = error.message
            if unpublished := error.details.unpublished_error_code:
                message = f"{message} ({unpublished})"
            quota = error.details.quota_error_details
            yield Fault(
                name,
                family,
                message,
                index_of(error.location),
                span_of(quota.retry_delay),
                everywhere=quota.rate_scope == QUOTA_OF_PROJECT,
            )


def span_of(delay: Any) -> timedelta | None:
    """Return a protobuf duration, or nothing for none; at most a day, for it may hold ten thousand years."""
    seconds = min(max(delay.seconds + delay.nanos / 1e9, 0), LONGEST_DELAY)
    return timedelta(seconds=seconds) or None


def name_of(error_code: Any) -> tuple[str, str]:
    """Return family and name of an error; a newer API's number keeps its number."""
    family = error_code.WhichOneof("error_code")
    if family is None:
        return "", "UNKNOWN_FAMILY"
    number = getattr(error_code, family)
    known = error_code.DESCRIPTOR.fields_by_name[family].enum_type.values_by_number.get(number)
    return family, known.name if known else f"{family}_{number}"


def index_of(location: Any) -> int | None:
    """Return which row an error points at; index 0 and no index are the same number, so presence is asked."""
    for element in location.field_path_elements:
        if element.field_name == "conversions" and element.HasField("index"):
            return int(element.index)
    return None


def no_time_left(rows: int) -> list[Outcome]:
    """Tell rows that the time of their batch was over before they were sent; the attempt counts, so that this ends."""
    told = Outcome(
        Disposition.RETRY,
        code="NO_TIME_LEFT",
        category=Category.TRANSIENT,
        message="Earlier requests of the batch took all its time.",
        whole_request=True,
    )
    return [told] * rows


def locked_out(refused: CredentialsRefused, rows: int) -> list[Outcome]:
    """Read a login that was refused in the middle of a run: nothing was sent."""
    told = Outcome(
        Disposition.GATE,
        code=refused.code,
        category=Category.TRANSIENT if refused.passing else Category.AUTH,
        message=str(refused),
        whole_request=True,
    )
    return [told] * rows


def _outcome(faults: list[Fault], request_id: str) -> Outcome:
    """Return what the errors of one row come to, told by the worst of them."""
    found = worst(fault.meaning for fault in faults)
    first = next(fault for fault in faults if fault.meaning == found)
    words = [found.hint, *(f"{fault.name}: {fault.message}" for fault in faults)]
    return Outcome(
        found.disposition,
        code=first.name,
        category=found.category,
        message=" ".join(filter(None, words)),
        retry_after=max((fault.retry_after for fault in faults if fault.retry_after), default=None),
        request_id=request_id,
        everywhere=any(fault.everywhere for fault in faults),
    )


def _unproven(message: str, request_id: str) -> Outcome:
    return Outcome(
        Disposition.RETRY,
        code=UNPROVEN,
        category=Category.TRANSIENT,
        message=message,
        ambiguous=True,
        request_id=request_id,
    )


def _nothing_proven(faults: list[Fault], rows: int, *, request_id: str) -> list[Outcome]:
    """Believe nothing of an answer with an error that points at no row: each of them may be the one that failed."""
    lost = [fault for fault in faults if not fault.points_at_one_of(rows)]
    told = _outcome(lost, request_id)
    gated = told.disposition in GATES
    return [
        replace(
            told,
            disposition=told.disposition if gated else Disposition.RETRY,
            message=f"An error that points at no row: {told.message}",
            ambiguous=True,
            whole_request=True,
        )
    ] * rows


def _attached(error: Any) -> tuple[str, list[Any]]:
    """Return the request id and the failures in an error's trailing metadata."""
    from google.ads.googleads.v26.errors.types.errors import GoogleAdsFailure  # noqa: PLC0415

    request_id, failures = "", []
    for key, value in _trailing(error):
        if key == "request-id":
            request_id = str(value)
        elif key.endswith("googleadsfailure-bin"):
            failure = GoogleAdsFailure.pb(GoogleAdsFailure())
            failure.ParseFromString(value)
            failures.append(failure)
    return request_id, failures


def _trailing(error: Any) -> Iterable[tuple[str, Any]]:
    call: Any = getattr(error, "response", None)
    return (call.trailing_metadata() or ()) if hasattr(call, "trailing_metadata") else ()


def _retry_delay(error: Any) -> timedelta | None:
    """Return how long the transport was told to wait (google.rpc.RetryInfo)."""
    for detail in getattr(error, "details", None) or ():
        delay = getattr(detail, "retry_delay", None)
        if delay is not None:
            return span_of(delay)
    return None
