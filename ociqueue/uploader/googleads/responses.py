"""Reads Google's answers: status 200 is not success, and each row needs a proof of its own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.codes.google import ads_meaning
from ociqueue.states import Category, Disposition
from ociqueue.uploader.google import (
    LOGIN_REJECTIONS,
    REFUSED,
    UNPROVEN,
    GoogleError,
    errors_by_row,
    read_delay,
    refuse_named,
    result_of,
)
from ociqueue.uploader.results import GATES, RowResult, blame_rows, change_results
from ociqueue.values.identifiers import hide_hashes

QUOTA_OF_PROJECT = 3  # QuotaErrorDetails.QuotaRateScope.DEVELOPER
UNSENDABLE = ("Invalid metadata", "Illegal header")
ROWS = ("conversions", "conversion_adjustments")  # the field of a request that has its rows
PLUGIN_FAILED = "Getting metadata from plugin failed"


def make_error(name: str, message: str, *, family: str = "", **details: Any) -> GoogleError:
    return GoogleError(name, ads_meaning(name, family=family), joined(f"{name}:", message), **details)


def read_response(response: Any, rows: int, *, request_id: str, dry_run: bool) -> list[RowResult]:
    """Read a successful response row by row, because any of them may have failed."""
    results = _read_rows(response, rows, request_id=request_id, dry_run=dry_run)
    return change_results(results, partial(replace, job_id=response.job_id))


def _read_rows(response: Any, rows: int, *, request_id: str, dry_run: bool) -> list[RowResult]:
    status = response.partial_failure_error
    failures = [parse_failure(one.value) for one in status.details if one.type_url.endswith("GoogleAdsFailure")]
    errors = list(reported_errors(failures))
    if not errors and (status.code or status.details):
        errors = [make_error("UNREADABLE_ERROR", status.message or sentences.NO_DESCRIPTION)]
    if any(not error.refers_to_row(rows) for error in errors):
        return _all_unproven(errors, rows, request_id=request_id)
    by_row = errors_by_row(errors, rows)
    accepted = RowResult(Disposition.ACCEPTED, request_id=request_id)
    if dry_run:  # Google gives no results for what it only validates
        return [result_of(by_row[at], request_id) if at in by_row else accepted for at in range(rows)]
    if len(response.results) != rows:
        miscounted = _unproven(sentences.RESULTS % {"results": len(response.results), "rows": rows}, request_id)
        return [replace(miscounted, whole_request=True)] * rows
    missing = _unproven(sentences.NO_RESULT, request_id)
    results = [accepted if result.ByteSize() else missing for result in response.results]
    for at, row_errors in by_row.items():
        results[at] = result_of(row_errors, request_id)
    return blame_rows(results)


def read_failure(failure: object, rows: int, *, request_id: str) -> list[RowResult]:
    errors = list(reported_errors([failure])) or [make_error("UNKNOWN_FAILURE", sentences.NO_REASON)]
    others = RowResult(Disposition.UNSENT, REFUSED, Category.TRANSIENT, request_id=request_id)
    whole = result_of(errors, request_id)
    whole = replace(whole, whole_request=True, ambiguous=whole.category == Category.TRANSIENT)
    return refuse_named(errors, rows, others) or [whole] * rows


def read_transport_error(error: Any, rows: int) -> list[RowResult]:
    """Read a transport error; a failure that Google attached to it says more than its code."""
    code = error.grpc_status_code.name if getattr(error, "grpc_status_code", None) else "UNKNOWN"
    request_id, failures = _attached(error)
    if failures:
        results = read_failure(failures[0], rows, request_id=request_id)
        delay = _retry_delay(error)
        return [replace(result, retry_after=result.retry_after or delay) for result in results]
    message = str(error.message if hasattr(error, "message") else error)
    if any(word in message for word in UNSENDABLE) or (
        PLUGIN_FAILED in message and any(word in message for word in LOGIN_REJECTIONS)
    ):
        # Credentials that were revoked meanwhile, or do not fit in a header, look like an outage; nothing was sent.
        meaning, ambiguous = ads_meaning("UNAUTHENTICATED", family="grpc"), False
    else:
        meaning = ads_meaning(code, family="grpc")
        ambiguous = meaning.category == Category.TRANSIENT
    message = joined(meaning.hint, message)
    whole = RowResult(meaning.disposition, code, meaning.category, message, whole_request=True)
    return [replace(whole, retry_after=_retry_delay(error), ambiguous=ambiguous, request_id=request_id)] * rows


def parse_failure(data: bytes) -> object:
    from google.ads.googleads.v26.errors.types.errors import GoogleAdsFailure

    failure = GoogleAdsFailure.pb(GoogleAdsFailure())
    failure.ParseFromString(data)
    return failure


def reported_errors(failures: Iterable[object]) -> Iterator[GoogleError]:
    from google.ads.googleads.util import convert_proto_plus_to_protobuf

    for failure in failures:
        # An exception carries a wrapped message even when plain ones were requested.
        for error in convert_proto_plus_to_protobuf(failure).errors:
            family, name = name_of(error.error_code)
            unpublished = error.details.unpublished_error_code
            message = f"{error.message} ({unpublished})" if unpublished else error.message
            quota = error.details.quota_error_details
            yield make_error(
                name,
                hide_hashes(message),
                family=family,
                index=index_of(error.location),
                retry_after=duration_of(quota.retry_delay),
                everywhere=quota.rate_scope == QUOTA_OF_PROJECT,
            )


def duration_of(delay: Any) -> timedelta | None:
    return read_delay(delay.seconds + delay.nanos / 1e9)


def name_of(error_code: Any) -> tuple[str, str]:
    family = error_code.WhichOneof("error_code")
    if family is None:
        return "", "UNKNOWN_FAMILY"
    return family, enum_name(error_code, family)


def enum_name(message: Any, name: str) -> str:
    """Return the name of an enum's value; one that this version does not know is named by its number."""
    number = getattr(message, name)
    value = message.DESCRIPTOR.fields_by_name[name].enum_type.values_by_number.get(number)
    return str(value.name) if value else f"{name}_{number}"


def index_of(location: Any) -> int | None:
    """Return the row that an error refers to; index 0 differs from no index only by presence."""
    for element in location.field_path_elements:
        if element.field_name in ROWS and element.HasField("index"):
            return int(element.index)
    return None


def no_time_left(rows: int) -> list[RowResult]:
    """Return results for rows that were not sent in time; the attempt counts, so that this ends."""
    message = sentences.NO_TIME
    return [RowResult(Disposition.RETRY, "NO_TIME_LEFT", Category.TRANSIENT, message, whole_request=True)] * rows


def _unproven(message: str, request_id: str) -> RowResult:
    return RowResult(Disposition.RETRY, UNPROVEN, Category.TRANSIENT, message, ambiguous=True, request_id=request_id)


def _all_unproven(errors: list[GoogleError], rows: int, *, request_id: str) -> list[RowResult]:
    """Return results after an error that refers to no row: any of them may be the one that failed."""
    result = result_of([error for error in errors if not error.refers_to_row(rows)], request_id)
    return [
        replace(
            result,
            disposition=result.disposition if result.disposition in GATES else Disposition.RETRY,
            message=joined(sentences.NO_ROW, result.message),
            ambiguous=True,
            whole_request=True,
        )
    ] * rows


def _attached(error: object) -> tuple[str, list[object]]:
    call: Any = getattr(error, "response", None)
    trailing = (call.trailing_metadata() or ()) if hasattr(call, "trailing_metadata") else ()
    request_id = next((str(value) for key, value in trailing if key == "request-id"), "")
    return request_id, [parse_failure(value) for key, value in trailing if key.endswith("googleadsfailure-bin")]


def _retry_delay(error: object) -> timedelta | None:
    for detail in getattr(error, "details", None) or ():
        delay = getattr(detail, "retry_delay", None)
        if delay is not None:
            return duration_of(delay)
    return None


def describe_failure(error: Exception) -> str:
    failure = getattr(error, "failure", None)
    if failure is None:
        return str(getattr(error, "message", None) or error)[:500]
    return joined(*(joined(error.meaning.hint, error.text) for error in reported_errors([failure])))
