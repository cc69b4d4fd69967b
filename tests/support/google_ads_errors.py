"""What each error of the Google Ads API must mean, listed independently of the table."""

from google.ads.googleads.v26.errors.types.errors import ErrorCode

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
        (
            "CONVERSION_EXPIRED ADJUSTMENT_PRECEDES_CONVERSION MORE_RECENT_RESTATEMENT_FOUND TOO_MANY_ADJUSTMENTS"
            " CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE INVALID_USER_IDENTIFIER"
            " DUPLICATE_ADJUSTMENT_IN_REQUEST UNSUPPORTED_USER_IDENTIFIER GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET"
            " DUPLICATE_ENHANCEMENT_IN_REQUEST MISSING_ORDER_ID_FOR_WEBPAGE ORDER_ID_CONTAINS_PII INVALID_JOB_ID"
        ),
    ),
    (
        "conversion_adjustment_upload_error",
        "DEFER",
        "TRANSIENT",
        "CONVERSION_NOT_FOUND TOO_RECENT_CONVERSION TOO_RECENT_CONVERSION_ACTION",
    ),
    ("conversion_adjustment_upload_error", "SPLIT", "VALIDATION", "TOO_MANY_ADJUSTMENTS_IN_REQUEST"),
    (
        "conversion_adjustment_upload_error",
        "GATE_ACTION",
        "VALIDATION",
        ("NO_CONVERSION_ACTION_FOUND INVALID_CONVERSION_ACTION_TYPE CONVERSION_ACTION_NOT_ELIGIBLE_FOR_ENHANCEMENT"),
    ),
    (
        "conversion_adjustment_upload_error",
        "GATE",
        "AUTH",
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCEMENT",
    ),
]
CASES = [
    (family, name, disposition, category)
    for family, disposition, category, names in EXPECTED
    for name in (
        [value.name for value in ENUMS[family].values if value.name not in NOT_CODES] if names == "*" else names.split()
    )
]
