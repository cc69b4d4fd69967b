"""Google's responses, built from the package's own messages."""

from typing import Any

from google.ads.googleads.v26.errors.types.errors import GoogleAdsFailure
from google.ads.googleads.v26.services.types.conversion_upload_service import UploadClickConversionsResponse
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status

FAILURE_KEY = "google.ads.googleads.v26.errors.googleadsfailure-bin"
TYPE_URL = "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure"


def failure(*errors: dict[str, Any]) -> Any:
    """Return a failure; each error is {family, name or number, index, message, retry_seconds, project}."""
    message = GoogleAdsFailure.pb(GoogleAdsFailure())
    for given in errors:
        error = message.errors.add()
        if family := given.get("family"):
            field = error.error_code.DESCRIPTOR.fields_by_name[family]
            number = given["number"] if "number" in given else field.enum_type.values_by_name[given["name"]].number
            setattr(error.error_code, family, number)
        error.message = given.get("message", f"{given.get('name')} of row {given.get('index')}")
        if given.get("index") is not None:
            element = error.location.field_path_elements.add()
            element.field_name = given.get("field", "conversions")
            element.index = given["index"]
        if seconds := given.get("retry_seconds"):
            error.details.quota_error_details.retry_delay.seconds = seconds
            error.details.quota_error_details.rate_scope = 3 if given.get("project") else 2
        if given.get("unpublished"):
            error.details.unpublished_error_code = given["unpublished"]
    return message


def response(request: Any, errors: list[dict[str, Any]], *, results: int | None = None) -> Any:
    """Return a successful response with a result for each row without an error, or with `results` of them."""
    answer = UploadClickConversionsResponse.pb(UploadClickConversionsResponse())
    failed = {error.get("index") for error in errors}
    if errors:
        detail = AnyMessage(type_url=TYPE_URL, value=failure(*errors).SerializeToString())
        answer.partial_failure_error.CopyFrom(Status(code=3, message="Multiple errors", details=[detail]))
    if request.validate_only:
        return answer
    answer.job_id = request.job_id
    for index in range(len(request.conversions) if results is None else results):
        result = answer.results.add()
        if index in failed or index >= len(request.conversions):
            continue
        row = request.conversions[index]
        result.gclid = row.gclid
        result.conversion_action = row.conversion_action
        result.conversion_date_time = row.conversion_date_time
    return answer
