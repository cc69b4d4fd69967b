"""The one table of Google Ads errors: what each means for a row.

A name is looked up in its family first, then among the names that older documents use; a name that nobody listed is
its family's business, and without one it is a fault of the row's data.
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
    """What an error comes to, and words for whoever has to mend it."""

    disposition: Disposition
    category: Category
    hint: str = ""


def meaning(disposition: Disposition, category: Category, hint: str = "") -> Meaning:
    """Say it short in the table below."""
    return Meaning(disposition, category, hint)


DATA_MANAGER = (
    "Google closed offline conversion uploads over the Google Ads API to new integrations in June 2026: this account"
    " is not on its list. New integrations need Google's Data Manager API; until then send this site by its script."
)
TERMS = "Somebody with access to the Google Ads account has to accept or turn this on there, under Conversions."

TABLE: Mapping[str, Mapping[str, Meaning]] = {
    "conversion_upload_error": {
        "UNPARSEABLE_GCLID": meaning(FATAL, VALIDATION),
        "UNPARSEABLE_WBRAID": meaning(FATAL, VALIDATION),
        "UNPARSEABLE_GBRAID": meaning(FATAL, VALIDATION),
        "GBRAID_WBRAID_BOTH_SET": meaning(FATAL, VALIDATION),
        "CONVERSION_PRECEDES_EVENT": meaning(
            FATAL, VALIDATION, "The conversion is older than its click: usually a wrong time zone at the source."
        ),
        "EXPIRED_EVENT": meaning(FATAL, VALIDATION, "The click is older than the action's click-through window."),
        "EVENT_NOT_FOUND": meaning(FATAL, VALIDATION, "Google knows no such click: it is not from this account's ads."),
        "CLICK_NOT_FOUND": meaning(FATAL, VALIDATION, "Google knows no such click; this may be ignored."),
        "TOO_RECENT_EVENT": meaning(DEFER, TRANSIENT, "The click is too fresh; Google asks for six hours."),
        "TOO_RECENT_CONVERSION_ACTION": meaning(DEFER, TRANSIENT, "The action is too new; Google asks for six hours."),
        "TOO_RECENT_CALL": meaning(DEFER, TRANSIENT, "The call is too fresh; Google asks for six hours."),
        "ORDER_ID_ALREADY_IN_USE": meaning(DUPLICATE, VALIDATION, "Google counted this order id before."),
        "CLICK_CONVERSION_ALREADY_EXISTS": meaning(
            DUPLICATE, VALIDATION, "Google has a conversion of this click and time already."
        ),
        "DUPLICATE_ORDER_ID": meaning(FATAL, VALIDATION),
        "DUPLICATE_CLICK_CONVERSION_IN_REQUEST": meaning(FATAL, VALIDATION),
        "TOO_MANY_CONVERSIONS_IN_REQUEST": meaning(SPLIT, VALIDATION),
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": meaning(GATE, AUTH, TERMS),
        "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": meaning(GATE, AUTH, TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": meaning(GATE, AUTH, TERMS),
        "NO_CONVERSION_ACTION_FOUND": meaning(
            GATE_ACTION, VALIDATION, "The account has no such conversion action, or it is removed: see the credentials."
        ),
        "INVALID_CONVERSION_ACTION_TYPE": meaning(
            GATE_ACTION, VALIDATION, "The conversion action does not take uploads of clicks: see the credentials."
        ),
        "UNAUTHORIZED_CUSTOMER": meaning(FATAL, AUTH, "The click belongs to an account that we may not reach."),
        "INVALID_CUSTOMER_FOR_CLICK": meaning(
            FATAL, VALIDATION, "The click is another account's: upload to the account that owns its conversions."
        ),
        "CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME": meaning(FATAL, VALIDATION),
        "EXTERNAL_ATTRIBUTION_DATA_SET_FOR_NON_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": meaning(FATAL, VALIDATION),
        "EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": meaning(FATAL, VALIDATION),
        "ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": meaning(FATAL, VALIDATION),
        "CUSTOM_VARIABLE_NOT_ENABLED": meaning(FATAL, VALIDATION),
        "CUSTOM_VARIABLE_VALUE_CONTAINS_PII": meaning(FATAL, VALIDATION),
        "ORDER_ID_CONTAINS_PII": meaning(FATAL, VALIDATION),
        "INVALID_USER_IDENTIFIER": meaning(FATAL, VALIDATION),
        "UNSUPPORTED_USER_IDENTIFIER": meaning(FATAL, VALIDATION),
        "CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY": meaning(FATAL, VALIDATION),
        "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID": meaning(FATAL, VALIDATION),
        "INVALID_JOB_ID": meaning(FATAL, VALIDATION),
    },
    "conversion_adjustment_upload_error": {
        "RESTATEMENT_ALREADY_EXISTS": meaning(DUPLICATE, VALIDATION),
        "CONVERSION_ALREADY_RETRACTED": meaning(DUPLICATE, VALIDATION),
        "CONVERSION_ALREADY_ENHANCED": meaning(DUPLICATE, VALIDATION),
        "TOO_RECENT_CONVERSION": meaning(DEFER, TRANSIENT),
        "TOO_RECENT_CONVERSION_ACTION": meaning(DEFER, TRANSIENT),
    },
    "internal_error": {
        # These come per row inside an answer of success, and pass.
        "INTERNAL_ERROR": meaning(RETRY, TRANSIENT),
        "TRANSIENT_ERROR": meaning(RETRY, TRANSIENT),
        "DEADLINE_EXCEEDED": meaning(RETRY, TRANSIENT),
        "ERROR_CODE_NOT_PUBLISHED": meaning(FATAL, VALIDATION),
    },
    "quota_error": {
        "RESOURCE_EXHAUSTED": meaning(RETRY, RATE_LIMIT),
        "RESOURCE_TEMPORARILY_EXHAUSTED": meaning(RETRY, RATE_LIMIT),
        "EXCESSIVE_SHORT_TERM_QUERY_RESOURCE_CONSUMPTION": meaning(RETRY, RATE_LIMIT),
        "EXCESSIVE_LONG_TERM_QUERY_RESOURCE_CONSUMPTION": meaning(RETRY, RATE_LIMIT),
        "ACCESS_PROHIBITED": meaning(GATE, AUTH, "Google does not let this project or token use the API."),
    },
    "request_error": {
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING": meaning(GATE, AUTH, "The login customer id is missing."),
        "CLOUD_PROJECT_NOT_FOUND": meaning(GATE, AUTH, "The OAuth client's Google Cloud project is gone."),
        "DEVELOPER_TOKEN_PARAMETER_MISSING": meaning(GATE, AUTH, "This account still needs a developer token."),
        "UNSUPPORTED_VERSION": meaning(
            GATE_ALL, VALIDATION, "Google has switched this version of its API off: Kilit has to be updated."
        ),
        "RPC_DEADLINE_TOO_SHORT": meaning(RETRY, TRANSIENT),
    },
    "database_error": {
        "CONCURRENT_MODIFICATION": meaning(RETRY, TRANSIENT),
        "DATA_CONSTRAINT_VIOLATION": meaning(RETRY, TRANSIENT),
        "REQUEST_TOO_LARGE": meaning(SPLIT, VALIDATION),
    },
    "not_allowlisted_error": {
        "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE": meaning(GATE, AUTH, DATA_MANAGER),
    },
    # What gRPC itself says when no failure of Google Ads is attached.
    "grpc": {
        "UNAVAILABLE": meaning(RETRY, TRANSIENT),
        "DEADLINE_EXCEEDED": meaning(RETRY, TRANSIENT),
        "ABORTED": meaning(RETRY, TRANSIENT),
        "CANCELLED": meaning(RETRY, TRANSIENT),
        "UNKNOWN": meaning(RETRY, TRANSIENT),
        "INTERNAL": meaning(RETRY, TRANSIENT),
        "RESOURCE_EXHAUSTED": meaning(RETRY, RATE_LIMIT),
        "UNAUTHENTICATED": meaning(GATE, AUTH, "Google does not accept the login: renew the refresh token."),
        "PERMISSION_DENIED": meaning(GATE, AUTH, "The login may not act for this customer."),
        "INVALID_ARGUMENT": meaning(FATAL, VALIDATION),
        "NOT_FOUND": meaning(FATAL, VALIDATION),
        "FAILED_PRECONDITION": meaning(FATAL, VALIDATION),
    },
}

# Families whose every code means the same, and what becomes of a code that its family does not list.
FAMILIES: Mapping[str, Meaning] = {
    "date_error": meaning(FATAL, VALIDATION),
    "authentication_error": meaning(GATE, AUTH, "Google does not accept the login: renew the refresh token."),
    "authorization_error": meaning(GATE, AUTH, "The login may not act for this customer."),
    "header_error": meaning(GATE, AUTH, "The login customer id is wrong."),
    "resource_access_denied_error": meaning(GATE, AUTH, "The login may not write to this customer."),
    "not_allowlisted_error": meaning(GATE, AUTH, DATA_MANAGER),
    "quota_error": meaning(RETRY, RATE_LIMIT),
    "size_limit_error": meaning(SPLIT, VALIDATION),
    # A status that nobody expects says nothing about a row.
    "grpc": meaning(GATE, VALIDATION, "Google refuses the whole request."),
}

# Names of the source document that Google has renamed or that never were enum values.
OLD_NAMES: Mapping[str, Meaning] = {
    "ConversionPrecedesClick": meaning(FATAL, VALIDATION),
    "TooRecentConversion": meaning(FATAL, VALIDATION),
    "INVALID_GCLID": meaning(FATAL, VALIDATION),
    "UNPARSEABLE_GCLID": meaning(FATAL, VALIDATION),
    "INVALID_FIELD_VALUES_IN_DATE_TIME": meaning(FATAL, VALIDATION),
    "DateError": meaning(FATAL, VALIDATION),
    "RESOURCE_NOT_FOUND": meaning(FATAL, VALIDATION),
    "CONVERSION_NOT_FOUND": meaning(FATAL, VALIDATION),
    "INVALID_ARGUMENT": meaning(FATAL, VALIDATION),
    "RESOURCE_EXHAUSTED": meaning(RETRY, RATE_LIMIT),
    "UNAVAILABLE": meaning(RETRY, TRANSIENT),
    "DEADLINE_EXCEEDED": meaning(RETRY, TRANSIENT),
    "RATE_LIMIT": meaning(RETRY, RATE_LIMIT),
    "BACKEND_ERROR": meaning(RETRY, TRANSIENT),
    "TEMPORARILY": meaning(RETRY, TRANSIENT),
}

# Better to fail a row and show it than to send it for ever.
UNLISTED = meaning(FATAL, VALIDATION)


def classify(name: str, *, family: str = "") -> Meaning:
    if found := TABLE.get(family, {}).get(name):
        return found
    return FAMILIES.get(family) or OLD_NAMES.get(name) or UNLISTED


def worst(meanings: Iterable[Meaning]) -> Meaning:
    """Return what a row with several errors comes to: a duplicate only when every error says so."""
    return min(meanings, key=lambda found: WORST_FIRST.index(found.disposition))
