"""The table of Google Ads errors: what each means for a row.

A name is looked up in its family, then the family's own meaning applies, then the names that older documents use;
any other error is taken for invalid data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ociqueue.states import Category
from ociqueue.uploader.results import WORST_FIRST, Disposition

FATAL, RETRY, DEFER, DUPLICATE = Disposition.FATAL, Disposition.RETRY, Disposition.DEFER, Disposition.DUPLICATE
SPLIT, GATE, GATE_ACTION, GATE_ALL = Disposition.SPLIT, Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL
VALIDATION, TRANSIENT = Category.VALIDATION, Category.TRANSIENT
AUTH, RATE_LIMIT = Category.AUTH, Category.RATE_LIMIT


@dataclass(frozen=True)
class Meaning:
    """What happens to a row with this error, and a hint for the operator who has to fix it."""

    disposition: Disposition
    category: Category
    hint: str = ""


DATA_MANAGER = (
    "In June 2026 Google closed offline conversion uploads over the Google Ads API to new integrations, and this"
    " account is not on its list. New integrations need Google's Data Manager API; until then use the script."
)
TERMS = "A user of the Google Ads account has to accept or enable this there, under Conversions."

# Errors in the data of a row that need no hint.
INVALID_DATA = """
UNPARSEABLE_GCLID UNPARSEABLE_WBRAID UNPARSEABLE_GBRAID GBRAID_WBRAID_BOTH_SET DUPLICATE_ORDER_ID
DUPLICATE_CLICK_CONVERSION_IN_REQUEST CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME
EXTERNAL_ATTRIBUTION_DATA_SET_FOR_NON_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION CUSTOM_VARIABLE_NOT_ENABLED
CUSTOM_VARIABLE_VALUE_CONTAINS_PII ORDER_ID_CONTAINS_PII INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER
CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID INVALID_JOB_ID
"""

TABLE: Mapping[str, Mapping[str, Meaning]] = {
    "conversion_upload_error": {
        **dict.fromkeys(INVALID_DATA.split(), Meaning(FATAL, VALIDATION)),
        "CONVERSION_PRECEDES_EVENT": Meaning(
            FATAL,
            VALIDATION,
            "The conversion is older than its click, usually because of a wrong time zone at the source.",
        ),
        "EXPIRED_EVENT": Meaning(FATAL, VALIDATION, "The click is older than the action's click-through window."),
        "EVENT_NOT_FOUND": Meaning(
            FATAL, VALIDATION, "Google does not know this click; it is not from this account's ads."
        ),
        "CLICK_NOT_FOUND": Meaning(FATAL, VALIDATION, "Google does not know this click; this can be ignored."),
        "TOO_RECENT_EVENT": Meaning(DEFER, TRANSIENT, "The click is too recent; Google asks to wait six hours."),
        "TOO_RECENT_CONVERSION_ACTION": Meaning(
            DEFER, TRANSIENT, "The action is too new; Google asks to wait six hours."
        ),
        "TOO_RECENT_CALL": Meaning(DEFER, TRANSIENT, "The call is too recent; Google asks to wait six hours."),
        "ORDER_ID_ALREADY_IN_USE": Meaning(DUPLICATE, VALIDATION, "Google has already counted this order id."),
        "CLICK_CONVERSION_ALREADY_EXISTS": Meaning(
            DUPLICATE, VALIDATION, "Google already has a conversion of this click and time."
        ),
        "TOO_MANY_CONVERSIONS_IN_REQUEST": Meaning(SPLIT, VALIDATION),
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": Meaning(GATE, AUTH, TERMS),
        "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": Meaning(GATE, AUTH, TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": Meaning(GATE, AUTH, TERMS),
        "NO_CONVERSION_ACTION_FOUND": Meaning(
            GATE_ACTION,
            VALIDATION,
            "The account has no such conversion action, or it was removed: see the credentials.",
        ),
        "INVALID_CONVERSION_ACTION_TYPE": Meaning(
            GATE_ACTION, VALIDATION, "The conversion action does not accept uploads of clicks: see the credentials."
        ),
        "UNAUTHORIZED_CUSTOMER": Meaning(
            FATAL, AUTH, "The click belongs to an account that these credentials cannot access."
        ),
        "INVALID_CUSTOMER_FOR_CLICK": Meaning(
            FATAL, VALIDATION, "The click belongs to another account: upload to the account that owns its conversions."
        ),
    },
    "conversion_adjustment_upload_error": {
        "RESTATEMENT_ALREADY_EXISTS": Meaning(DUPLICATE, VALIDATION),
        "CONVERSION_ALREADY_RETRACTED": Meaning(DUPLICATE, VALIDATION),
        "CONVERSION_ALREADY_ENHANCED": Meaning(DUPLICATE, VALIDATION),
        "TOO_RECENT_CONVERSION": Meaning(DEFER, TRANSIENT),
        "TOO_RECENT_CONVERSION_ACTION": Meaning(DEFER, TRANSIENT),
    },
    "internal_error": {
        # Reported for single rows of a successful answer; temporary.
        "INTERNAL_ERROR": Meaning(RETRY, TRANSIENT),
        "TRANSIENT_ERROR": Meaning(RETRY, TRANSIENT),
        "DEADLINE_EXCEEDED": Meaning(RETRY, TRANSIENT),
        "ERROR_CODE_NOT_PUBLISHED": Meaning(FATAL, VALIDATION),
    },
    "quota_error": {
        "RESOURCE_EXHAUSTED": Meaning(RETRY, RATE_LIMIT),
        "RESOURCE_TEMPORARILY_EXHAUSTED": Meaning(RETRY, RATE_LIMIT),
        "EXCESSIVE_SHORT_TERM_QUERY_RESOURCE_CONSUMPTION": Meaning(RETRY, RATE_LIMIT),
        "EXCESSIVE_LONG_TERM_QUERY_RESOURCE_CONSUMPTION": Meaning(RETRY, RATE_LIMIT),
        "ACCESS_PROHIBITED": Meaning(GATE, AUTH, "Google does not allow this project or token to use the API."),
    },
    "request_error": {
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING": Meaning(GATE, AUTH, "The login customer id is missing."),
        "CLOUD_PROJECT_NOT_FOUND": Meaning(
            GATE, AUTH, "The OAuth client's Google Cloud project does not exist any more."
        ),
        "DEVELOPER_TOKEN_PARAMETER_MISSING": Meaning(GATE, AUTH, "This account still needs a developer token."),
        "UNSUPPORTED_VERSION": Meaning(
            GATE_ALL, VALIDATION, "Google has shut down this version of its API: Kilit has to be updated."
        ),
        "RPC_DEADLINE_TOO_SHORT": Meaning(RETRY, TRANSIENT),
    },
    "database_error": {
        "CONCURRENT_MODIFICATION": Meaning(RETRY, TRANSIENT),
        "DATA_CONSTRAINT_VIOLATION": Meaning(RETRY, TRANSIENT),
        "REQUEST_TOO_LARGE": Meaning(SPLIT, VALIDATION),
    },
    "not_allowlisted_error": {
        "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE": Meaning(GATE, AUTH, DATA_MANAGER),
    },
    # The gRPC status, when no Google Ads failure is attached.
    "grpc": {
        "UNAVAILABLE": Meaning(RETRY, TRANSIENT),
        "DEADLINE_EXCEEDED": Meaning(RETRY, TRANSIENT),
        "ABORTED": Meaning(RETRY, TRANSIENT),
        "CANCELLED": Meaning(RETRY, TRANSIENT),
        "UNKNOWN": Meaning(RETRY, TRANSIENT),
        "INTERNAL": Meaning(RETRY, TRANSIENT),
        "RESOURCE_EXHAUSTED": Meaning(RETRY, RATE_LIMIT),
        "UNAUTHENTICATED": Meaning(GATE, AUTH, "Google rejects the credentials: renew the refresh token."),
        "PERMISSION_DENIED": Meaning(GATE, AUTH, "These credentials have no access to this customer."),
        "INVALID_ARGUMENT": Meaning(FATAL, VALIDATION),
        "NOT_FOUND": Meaning(FATAL, VALIDATION),
        "FAILED_PRECONDITION": Meaning(FATAL, VALIDATION),
    },
}

# The meaning of all codes that a family does not list above.
FAMILIES: Mapping[str, Meaning] = {
    "date_error": Meaning(FATAL, VALIDATION),
    "authentication_error": Meaning(GATE, AUTH, "Google rejects the credentials: renew the refresh token."),
    "authorization_error": Meaning(GATE, AUTH, "These credentials have no access to this customer."),
    "header_error": Meaning(GATE, AUTH, "The login customer id is wrong."),
    "resource_access_denied_error": Meaning(GATE, AUTH, "These credentials may not write to this customer."),
    "not_allowlisted_error": Meaning(GATE, AUTH, DATA_MANAGER),
    "quota_error": Meaning(RETRY, RATE_LIMIT),
    "size_limit_error": Meaning(SPLIT, VALIDATION),
    # An unexpected status says nothing about a row.
    "grpc": Meaning(GATE, VALIDATION, "Google rejects the whole request."),
}

# Names in older documents that Google has renamed, or that never were enum values.
OLD_NAMES: Mapping[str, Meaning] = {
    "ConversionPrecedesClick": Meaning(FATAL, VALIDATION),
    "TooRecentConversion": Meaning(FATAL, VALIDATION),
    "INVALID_GCLID": Meaning(FATAL, VALIDATION),
    "UNPARSEABLE_GCLID": Meaning(FATAL, VALIDATION),
    "INVALID_FIELD_VALUES_IN_DATE_TIME": Meaning(FATAL, VALIDATION),
    "DateError": Meaning(FATAL, VALIDATION),
    "RESOURCE_NOT_FOUND": Meaning(FATAL, VALIDATION),
    "CONVERSION_NOT_FOUND": Meaning(FATAL, VALIDATION),
    "INVALID_ARGUMENT": Meaning(FATAL, VALIDATION),
    "RESOURCE_EXHAUSTED": Meaning(RETRY, RATE_LIMIT),
    "UNAVAILABLE": Meaning(RETRY, TRANSIENT),
    "DEADLINE_EXCEEDED": Meaning(RETRY, TRANSIENT),
    "RATE_LIMIT": Meaning(RETRY, RATE_LIMIT),
    "BACKEND_ERROR": Meaning(RETRY, TRANSIENT),
    "TEMPORARILY": Meaning(RETRY, TRANSIENT),
}

# Better to fail a row visibly than to send it again and again.
UNLISTED = Meaning(FATAL, VALIDATION)


def classify(name: str, *, family: str = "") -> Meaning:
    if found := TABLE.get(family, {}).get(name):
        return found
    return FAMILIES.get(family) or OLD_NAMES.get(name) or UNLISTED


def worst(meanings: Iterable[Meaning]) -> Meaning:
    """Return the meaning that decides for a row with several errors: a duplicate only if all of them are."""
    return min(meanings, key=lambda found: WORST_FIRST.index(found.disposition))
