"""The table of Google Ads errors: what each means for a row.

A name is looked up in its family, then the family's own meaning applies, then the names that older documents use;
any other error is taken for invalid data.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Meaning

FATAL, RETRY, DEFER, DUPLICATE = Disposition.FATAL, Disposition.RETRY, Disposition.DEFER, Disposition.DUPLICATE
SPLIT, GATE, GATE_ACTION, GATE_ALL = Disposition.SPLIT, Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL
VALIDATION, TRANSIENT = Category.VALIDATION, Category.TRANSIENT
AUTH, RATE_LIMIT = Category.AUTH, Category.RATE_LIMIT


invalid = partial(Meaning, FATAL, VALIDATION)
too_early = partial(Meaning, DEFER, TRANSIENT)
duplicate = partial(Meaning, DUPLICATE, VALIDATION)
gate = partial(Meaning, GATE, AUTH)

A_DAY = timedelta(days=1)

INVALID = invalid()
MALFORMED_CLICK_ID = invalid(
    "The click id is malformed. Correct it, and check how the source stores click ids: truncated, lower-cased, decoded?"
)
TEMPORARY = Meaning(RETRY, TRANSIENT)
BUSY = Meaning(RETRY, RATE_LIMIT)
KNOWN = duplicate()
TOO_LARGE = Meaning(SPLIT, VALIDATION)
REJECTED = gate("Google rejects the credentials: renew the refresh token.")
NO_ACTION = Meaning(
    GATE_ACTION, VALIDATION, "The account has no such conversion action, or it was removed: see the credentials."
)
NO_ACCESS = gate("These credentials have no access to this customer.")

DATA_MANAGER = (
    "In June 2026 Google closed offline conversion uploads over the Google Ads API to new integrations. Its list of"
    " those who may go on has developer tokens, not accounts, and this one is not on it. Switch the site to the Data"
    " Manager API, or use the script."
)
TERMS = "A user of the Google Ads account has to accept or enable this there, under Conversions."

# Errors in the data of a row that need no hint.
INVALID_DATA = """
GBRAID_WBRAID_BOTH_SET DUPLICATE_ORDER_ID
DUPLICATE_CLICK_CONVERSION_IN_REQUEST CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME
EXTERNAL_ATTRIBUTION_DATA_SET_FOR_NON_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION CUSTOM_VARIABLE_NOT_ENABLED
CUSTOM_VARIABLE_VALUE_CONTAINS_PII ORDER_ID_CONTAINS_PII INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER
CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID INVALID_JOB_ID
"""
# The same for adjustments; Kilit sends no enhancements.
INVALID_ADJUSTMENT = """
DUPLICATE_ADJUSTMENT_IN_REQUEST DUPLICATE_ENHANCEMENT_IN_REQUEST INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER
GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET MISSING_ORDER_ID_FOR_WEBPAGE ORDER_ID_CONTAINS_PII INVALID_JOB_ID
"""

TABLE: Mapping[str, Mapping[str, Meaning]] = {
    "conversion_upload_error": {
        **dict.fromkeys(INVALID_DATA.split(), INVALID),
        **dict.fromkeys(("UNPARSEABLE_GCLID", "UNPARSEABLE_WBRAID", "UNPARSEABLE_GBRAID"), MALFORMED_CLICK_ID),
        "CONVERSION_PRECEDES_EVENT": invalid(
            "The conversion is older than its click, usually because of a wrong time zone at the source."
        ),
        "EXPIRED_EVENT": invalid("The click is older than the action's click-through window."),
        "EVENT_NOT_FOUND": invalid("Google does not know this click; it is not from this account's ads."),
        "CLICK_NOT_FOUND": invalid("Google does not know this click; this can be ignored."),
        "TOO_RECENT_EVENT": too_early("The click is too recent; Google asks to wait six hours."),
        "TOO_RECENT_CONVERSION_ACTION": too_early("The action is too new; Google asks to wait six hours."),
        "TOO_RECENT_CALL": too_early("The call is too recent; Google asks to wait six hours."),
        "ORDER_ID_ALREADY_IN_USE": duplicate("Google has already counted this order id."),
        "CLICK_CONVERSION_ALREADY_EXISTS": duplicate("Google already has a conversion of this click and time."),
        "TOO_MANY_CONVERSIONS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": gate(TERMS),
        "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": gate(TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": gate(TERMS),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        "INVALID_CONVERSION_ACTION_TYPE": Meaning(
            GATE_ACTION, VALIDATION, "The conversion action does not accept uploads of clicks: see the credentials."
        ),
        "UNAUTHORIZED_CUSTOMER": Meaning(
            FATAL, AUTH, "The click belongs to an account that these credentials cannot access."
        ),
        "INVALID_CUSTOMER_FOR_CLICK": invalid(
            "The click belongs to another account: upload to the account that owns its conversions."
        ),
    },
    "conversion_adjustment_upload_error": {
        # What some of them mean depends on the row, too: see `for_row`.
        **dict.fromkeys(INVALID_ADJUSTMENT.split(), INVALID),
        "CONVERSION_ALREADY_RETRACTED": duplicate("Google has already retracted this conversion."),
        "RESTATEMENT_ALREADY_EXISTS": duplicate("Google already has this new value."),
        "CONVERSION_ALREADY_ENHANCED": KNOWN,
        "CONVERSION_NOT_FOUND": too_early(
            "Google does not know this order id; it may take a day to know one.", retry_after=A_DAY
        ),
        "TOO_RECENT_CONVERSION": too_early(
            "The conversion is too recent; Google asks to wait a day.", retry_after=A_DAY
        ),
        "TOO_RECENT_CONVERSION_ACTION": too_early("The action is too new; Google asks to wait six hours."),
        "CONVERSION_EXPIRED": invalid("The conversion is too old: Google adjusts it for 54 days."),
        "ADJUSTMENT_PRECEDES_CONVERSION": invalid("The adjustment is older than the conversion."),
        "MORE_RECENT_RESTATEMENT_FOUND": invalid("Google already has a newer value; nothing has to be done."),
        "CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE": invalid(
            "The conversion action always uses its default value, so Google takes no other."
        ),
        "TOO_MANY_ADJUSTMENTS": invalid("Google takes no more adjustments of this conversion."),
        "TOO_MANY_ADJUSTMENTS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": gate(TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCEMENT": gate(TERMS),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        **dict.fromkeys(
            ("INVALID_CONVERSION_ACTION_TYPE", "CONVERSION_ACTION_NOT_ELIGIBLE_FOR_ENHANCEMENT"),
            Meaning(GATE_ACTION, VALIDATION, "The conversion action does not accept adjustments: see the credentials."),
        ),
    },
    "internal_error": {
        # Reported for single rows of a successful answer; temporary.
        **dict.fromkeys(("INTERNAL_ERROR", "TRANSIENT_ERROR", "DEADLINE_EXCEEDED"), TEMPORARY),
        "ERROR_CODE_NOT_PUBLISHED": INVALID,
    },
    "quota_error": {
        # All others are BUSY.
        "ACCESS_PROHIBITED": gate("Google does not allow this project or token to use the API."),
    },
    "request_error": {
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING": gate("The login customer id is missing."),
        "CLOUD_PROJECT_NOT_FOUND": gate("The OAuth client's Google Cloud project does not exist any more."),
        "DEVELOPER_TOKEN_PARAMETER_MISSING": gate("This account still needs a developer token."),
        "UNSUPPORTED_VERSION": Meaning(
            GATE_ALL, VALIDATION, "Google has shut down this version of its API: Kilit has to be updated."
        ),
        "RPC_DEADLINE_TOO_SHORT": TEMPORARY,
    },
    "database_error": {
        **dict.fromkeys(("CONCURRENT_MODIFICATION", "DATA_CONSTRAINT_VIOLATION"), TEMPORARY),
        "REQUEST_TOO_LARGE": TOO_LARGE,
    },
    # The gRPC status, when no Google Ads failure is attached.
    "grpc": {
        **dict.fromkeys(("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED"), TEMPORARY),
        **dict.fromkeys(("UNKNOWN", "INTERNAL"), TEMPORARY),
        "RESOURCE_EXHAUSTED": BUSY,
        "UNAUTHENTICATED": REJECTED,
        "PERMISSION_DENIED": NO_ACCESS,
        **dict.fromkeys(("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"), INVALID),
    },
}

# The meaning of all codes that a family does not list above.
FAMILIES: Mapping[str, Meaning] = {
    "date_error": INVALID,
    "authentication_error": REJECTED,
    "authorization_error": NO_ACCESS,
    "header_error": gate("The login customer id is wrong."),
    "resource_access_denied_error": gate("These credentials may not write to this customer."),
    "not_allowlisted_error": gate(DATA_MANAGER),
    "quota_error": BUSY,
    "size_limit_error": TOO_LARGE,
    # An unexpected status says nothing about a row.
    "grpc": Meaning(GATE, VALIDATION, "Google rejects the whole request."),
}

# Names in older documents that Google has renamed, or that never were enum values, except those that mean INVALID.
OLD_NAMES: Mapping[str, Meaning] = {
    **dict.fromkeys(("RESOURCE_EXHAUSTED", "RATE_LIMIT"), BUSY),
    **dict.fromkeys(("UNAVAILABLE", "DEADLINE_EXCEEDED", "BACKEND_ERROR", "TEMPORARILY"), TEMPORARY),
}

# Better to fail a row visibly than to send it again and again.
UNLISTED = INVALID


def classify(name: str, *, family: str = "") -> Meaning:
    if meaning := TABLE.get(family, {}).get(name):
        return meaning
    return FAMILIES.get(family) or OLD_NAMES.get(name) or UNLISTED
