"""Google's responses, built from the package's own messages."""

from typing import Any

from google.ads.googleads.v26.errors.types.errors import GoogleAdsFailure
from google.ads.googleads.v26.services.types.conversion_adjustment_upload_service import (
    UploadConversionAdjustmentsResponse,
)
from google.ads.googleads.v26.services.types.conversion_upload_service import UploadClickConversionsResponse
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status

FAILURE_KEY = "google.ads.googleads.v26.errors.googleadsfailure-bin"
TYPE_URL = "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure"
# What a result repeats of its row.
UPLOADED = ("gclid", "conversion_action", "conversion_date_time")
ADJUSTED = ("order_id", "conversion_action", "adjustment_date_time", "adjustment_type")


def failure(*errors: dict[str, Any]) -> Any:
    """Return a failure; each error is {family, name or number, index, message, retry_seconds, project}."""
    message = GoogleAdsFailure.pb(GoogleAdsFailure())
    for values in errors:
        error = message.errors.add()
        if family := values.get("family"):
            field = error.error_code.DESCRIPTOR.fields_by_name[family]
            number = values["number"] if "number" in values else field.enum_type.values_by_name[values["name"]].number
            setattr(error.error_code, family, number)
        error.message = values.get("message", f"{values.get('name')} of row {values.get('index')}")
        if values.get("index") is not None:
            element = error.location.field_path_elements.add()
            element.field_name = values.get("field", "conversions")
            element.index = values["index"]
        if seconds := values.get("retry_seconds"):
            error.details.quota_error_details.retry_delay.seconds = seconds
            error.details.quota_error_details.rate_scope = 3 if values.get("project") else 2
        if values.get("unpublished"):
            error.details.unpublished_error_code = values["unpublished"]
    return message


def response(request: Any, errors: list[dict[str, object]], *, results: int | None = None) -> Any:
    """Return a successful response with a result for each row without an error, or with `results` of them."""
    answer = (UploadConversionAdjustmentsResponse if is_adjusting(request) else UploadClickConversionsResponse).pb()()
    failed = {error.get("index") for error in errors}
    if errors:
        detail = AnyMessage(type_url=TYPE_URL, value=failure(*errors).SerializeToString())
        answer.partial_failure_error.CopyFrom(Status(code=3, message="Multiple errors", details=[detail]))
    if request.validate_only:
        return answer
    answer.job_id = request.job_id
    rows, copied = rows_of(request), ADJUSTED if is_adjusting(request) else UPLOADED
    for index in range(len(rows) if results is None else results):
        result = answer.results.add()
        if index in failed or index >= len(rows):
            continue
        for name in copied:
            setattr(result, name, getattr(rows[index], name))
    return answer


def is_adjusting(request: object) -> bool:
    return hasattr(request, "conversion_adjustments")


def rows_of(request: Any) -> Any:
    return request.conversion_adjustments if is_adjusting(request) else request.conversions
