"""The error table, code by code, through the real messages."""

import pytest
from google.ads.googleads.v26.errors.types.errors import ErrorCode

from ociqueue.states import Category
from ociqueue.uploader.googleads.errors import TABLE, classify
from ociqueue.uploader.googleads.responses import read_response, reported_errors
from ociqueue.uploader.meanings import worst
from ociqueue.uploader.results import Disposition
from simulators.googleads.responses import failure, response

ENUMS = {field.name: field.enum_type for field in ErrorCode.pb().DESCRIPTOR.oneofs[0].fields}
NOT_CODES = ("UNSPECIFIED", "UNKNOWN")

# What each code must mean, independent of the table itself: family, disposition, category, codes.
EXPECTED = [
    (
        "conversion_upload_error",
        "FATAL",
        "VALIDATION",
        (
            "UNPARSEABLE_GCLID UNPARSEABLE_WBRAID UNPARSEABLE_GBRAID GBRAID_WBRAID_BOTH_SET CONVERSION_PRECEDES_EVENT"
            " EXPIRED_EVENT EVENT_NOT_FOUND CLICK_NOT_FOUND DUPLICATE_ORDER_ID DUPLICATE_CLICK_CONVERSION_IN_REQUEST"
            " INVALID_CUSTOMER_FOR_CLICK CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME CUSTOM_VARIABLE_NOT_ENABLED"
            " EXTERNAL_ATTRIBUTION_DATA_SET_FOR_NON_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION"
            " EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION"
            " ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION CUSTOM_VARIABLE_VALUE_CONTAINS_PII"
            " ORDER_ID_CONTAINS_PII INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER INVALID_JOB_ID"
            " CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID"
        ),
    ),
    ("conversion_upload_error", "FATAL", "AUTH", "UNAUTHORIZED_CUSTOMER"),
    (
        "conversion_upload_error",
        "DEFER",
        "TRANSIENT",
        "TOO_RECENT_EVENT TOO_RECENT_CONVERSION_ACTION TOO_RECENT_CALL",
    ),
    ("conversion_upload_error", "DUPLICATE", "VALIDATION", "ORDER_ID_ALREADY_IN_USE CLICK_CONVERSION_ALREADY_EXISTS"),
    ("conversion_upload_error", "SPLIT", "VALIDATION", "TOO_MANY_CONVERSIONS_IN_REQUEST"),
    (
        "conversion_upload_error",
        "GATE",
        "AUTH",
        (
            "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS"
            " CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS"
        ),
    ),
    (
        "conversion_upload_error",
        "GATE_ACTION",
        "VALIDATION",
        "NO_CONVERSION_ACTION_FOUND INVALID_CONVERSION_ACTION_TYPE",
    ),
    ("date_error", "FATAL", "VALIDATION", "*"),
    ("field_error", "FATAL", "VALIDATION", "*"),
    ("range_error", "FATAL", "VALIDATION", "*"),
    ("string_length_error", "FATAL", "VALIDATION", "*"),
    ("currency_code_error", "FATAL", "VALIDATION", "*"),
    ("id_error", "FATAL", "VALIDATION", "*"),
    ("null_error", "FATAL", "VALIDATION", "*"),
    ("not_empty_error", "FATAL", "VALIDATION", "*"),
    ("mutate_error", "FATAL", "VALIDATION", "RESOURCE_NOT_FOUND"),
    ("request_error", "FATAL", "VALIDATION", "RESOURCE_NOT_FOUND"),
    ("internal_error", "RETRY", "TRANSIENT", "INTERNAL_ERROR TRANSIENT_ERROR DEADLINE_EXCEEDED"),
    ("internal_error", "FATAL", "VALIDATION", "ERROR_CODE_NOT_PUBLISHED"),
    (
        "quota_error",
        "RETRY",
        "RATE_LIMIT",
        (
            "RESOURCE_EXHAUSTED RESOURCE_TEMPORARILY_EXHAUSTED EXCESSIVE_SHORT_TERM_QUERY_RESOURCE_CONSUMPTION"
            " EXCESSIVE_LONG_TERM_QUERY_RESOURCE_CONSUMPTION"
        ),
    ),
    ("quota_error", "GATE", "AUTH", "ACCESS_PROHIBITED"),
    ("authentication_error", "GATE", "AUTH", "*"),
    ("authorization_error", "GATE", "AUTH", "*"),
    ("header_error", "GATE", "AUTH", "*"),
    ("resource_access_denied_error", "GATE", "AUTH", "*"),
    (
        "request_error",
        "GATE",
        "AUTH",
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING CLOUD_PROJECT_NOT_FOUND DEVELOPER_TOKEN_PARAMETER_MISSING",
    ),
    ("not_allowlisted_error", "GATE", "AUTH", "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"),
    ("request_error", "GATE_ALL", "VALIDATION", "UNSUPPORTED_VERSION"),
    ("request_error", "RETRY", "TRANSIENT", "RPC_DEADLINE_TOO_SHORT"),
    ("database_error", "RETRY", "TRANSIENT", "CONCURRENT_MODIFICATION DATA_CONSTRAINT_VIOLATION"),
    ("database_error", "SPLIT", "VALIDATION", "REQUEST_TOO_LARGE"),
    ("size_limit_error", "SPLIT", "VALIDATION", "*"),
    (
        "conversion_adjustment_upload_error",
        "DUPLICATE",
        "VALIDATION",
        "RESTATEMENT_ALREADY_EXISTS CONVERSION_ALREADY_RETRACTED CONVERSION_ALREADY_ENHANCED",
    ),
    (
        "conversion_adjustment_upload_error",
        "FATAL",
        "VALIDATION",
        "CONVERSION_EXPIRED CONVERSION_NOT_FOUND MORE_RECENT_RESTATEMENT_FOUND",
    ),
    ("conversion_adjustment_upload_error", "DEFER", "TRANSIENT", "TOO_RECENT_CONVERSION TOO_RECENT_CONVERSION_ACTION"),
]
CASES = [
    (family, name, disposition, category)
    for family, disposition, category, names in EXPECTED
    for name in (
        [value.name for value in ENUMS[family].values if value.name not in NOT_CODES] if names == "*" else names.split()
    )
]


@pytest.mark.parametrize(("family", "name", "disposition", "category"), CASES)
def test_a_listed_code_comes_to(family: str, name: str, disposition: str, category: str) -> None:
    (fault,) = reported_errors([failure({"family": family, "name": name, "index": 0})])

    assert fault.name == name
    assert (fault.meaning.disposition, fault.meaning.category) == (disposition, category)


@pytest.mark.parametrize(
    ("name", "disposition", "category"),
    [
        *(
            (name, "FATAL", "VALIDATION")
            for name in (
                "ConversionPrecedesClick",
                "TooRecentConversion",
                "INVALID_GCLID",
                "UNPARSEABLE_GCLID",
                "INVALID_FIELD_VALUES_IN_DATE_TIME",
                "DateError",
                "RESOURCE_NOT_FOUND",
                "CONVERSION_NOT_FOUND",
                "INVALID_ARGUMENT",
            )
        ),
        ("RESOURCE_EXHAUSTED", "RETRY", "RATE_LIMIT"),
        ("RATE_LIMIT", "RETRY", "RATE_LIMIT"),
        ("UNAVAILABLE", "RETRY", "TRANSIENT"),
        ("DEADLINE_EXCEEDED", "RETRY", "TRANSIENT"),
        ("BACKEND_ERROR", "RETRY", "TRANSIENT"),
        ("TEMPORARILY", "RETRY", "TRANSIENT"),
        ("an unknown name", "FATAL", "VALIDATION"),
    ],
)
def test_an_old_name_comes_to(name: str, disposition: str, category: str) -> None:
    assert (classify(name).disposition, classify(name).category) == (disposition, category)


def test_every_name_in_the_table_is_one_that_google_has() -> None:
    for family, codes in TABLE.items():
        if family != "grpc":
            assert set(codes) <= set(ENUMS[family].values_by_name), family


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["UNPARSEABLE_GCLID", "NO_CONVERSION_ACTION_FOUND"], "FATAL"),
        (["TOO_RECENT_EVENT", "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS"], "GATE"),
        (["TOO_RECENT_EVENT", "ORDER_ID_ALREADY_IN_USE"], "DEFER"),
        (["CLICK_CONVERSION_ALREADY_EXISTS", "ORDER_ID_ALREADY_IN_USE"], "DUPLICATE"),
    ],
)
def test_the_worst_of_several(names: list[str], ends: str) -> None:
    assert worst(classify(name, family="conversion_upload_error") for name in names).disposition == ends


def test_an_unpublished_code_keeps_what_google_calls_it() -> None:
    reported = {"family": "internal_error", "name": "ERROR_CODE_NOT_PUBLISHED", "index": 0, "unpublished": "SECRET_17"}
    request = type("Request", (), {"conversions": [None], "validate_only": True})

    (result,) = read_response(response(request, [reported]), 1, request_id="r", dry_run=True)

    assert (result.disposition, result.category) == (Disposition.FATAL, Category.VALIDATION)
    assert "SECRET_17" in result.message
