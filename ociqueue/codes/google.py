"""Google's error codes: one entry for each says what becomes of a row, and what an operator can do.

`GOOGLE_ADS` has the errors of the Google Ads API by their families; the gRPC status is the family of a failure without
an error. `REFUSALS` has the Data Manager API's reasons of a refused request, and the statuses of refusals without one.
`VERDICTS` has the reasons of its verdicts, without their prefix. Google may add names at any time: the functions below
have a rule for names that are not listed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from ociqueue.states import Category, ConversionStatus, Disposition

FATAL, RETRY, DEFER, DUPLICATE = Disposition.FATAL, Disposition.RETRY, Disposition.DEFER, Disposition.DUPLICATE
SPLIT, GATE, GATE_ACTION, GATE_ALL = Disposition.SPLIT, Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL
VALIDATION, TRANSIENT, PERMANENT = Category.VALIDATION, Category.TRANSIENT, Category.PERMANENT
AUTH, RATE_LIMIT = Category.AUTH, Category.RATE_LIMIT
PROCESSING, UPLOADED, WAITING = ConversionStatus.PROCESSING, ConversionStatus.UPLOADED, ConversionStatus.RETRY
# For a row with several errors, the first of these decides. DUPLICATE is last, so it counts only when alone.
WORST_FIRST = (FATAL, GATE_ALL, GATE, GATE_ACTION, SPLIT, DEFER, RETRY, DUPLICATE)


@dataclass(frozen=True)
class Meaning:
    """What happens to a row with this error, and a hint for the operator who has to fix it.

    An expected failure leaves nothing to do. It is not in failure rates, and a group of them is not retried.
    """

    disposition: Disposition
    category: Category
    hint: str = ""
    if_all: Disposition | None = None  # what it means when every row of a reply has it
    retry_after: timedelta | None = None  # when to try again, if not after the usual wait
    expected: ConversionStatus | None = None  # the state in which an expected failure is found
    is_deferred_once: bool = False  # a second time it is fatal


def worst(meanings: Iterable[Meaning]) -> Meaning:
    """Return the meaning that decides for a row with several errors: a duplicate only if all of them are."""
    return min(meanings, key=lambda meaning: WORST_FIRST.index(meaning.disposition))


invalid = partial(Meaning, FATAL, VALIDATION)
ended = partial(Meaning, FATAL, PERMANENT)
too_early = partial(Meaning, DEFER, TRANSIENT)
duplicate = partial(Meaning, DUPLICATE, VALIDATION)
account = partial(Meaning, GATE, AUTH)
action = partial(Meaning, GATE_ACTION, VALIDATION)
SIX_HOURS, A_DAY = timedelta(hours=6), timedelta(days=1)
INVALID = invalid()
TEMPORARY = Meaning(RETRY, TRANSIENT)
BUSY = Meaning(RETRY, RATE_LIMIT)
TOO_LARGE = Meaning(SPLIT, VALIDATION)
# It says nothing about a row.
REJECTED_REQUEST = Meaning(GATE, VALIDATION, "Google rejects the whole request.")
REJECTED_DATA = invalid("Google rejects the data.")
REJECTED_LOGIN = account("Google rejects the credentials: renew the refresh token.")
NO_ACCESS = account("These credentials have no access to this customer.")
NO_ACTION = action("The account has no such conversion action, or it was removed: see the credentials.")
MALFORMED_CLICK_ID = invalid(
    "The click id is malformed. Correct it, and check how the source stores click ids: truncated, lower-cased, decoded?"
)
UNREADABLE_CLICK_ID = invalid("Google cannot read the click id: it was cut or changed at the source.")
UNKNOWN_CLICK = invalid("Google does not know this click; it is not from this account's ads.")
EARLIER_THAN_CLICK = invalid(
    "The conversion is older than its click, usually because of a wrong time zone at the source."
)
TOO_OLD = invalid("The click or the conversion is too old; Google does not count it any more.")
COUNTED_ORDER = duplicate("Google has already counted this order id.")
COUNTED_CLICK = duplicate("Google already has a conversion of this click and time.")
NEW_ACTION = too_early("The action is too new; Google asks to wait six hours.")
OTHER_ACCOUNT = invalid(
    "The click is from ads of another account: the customer id must be the account that owns the conversion action.",
    if_all=GATE,
)
CUSTOM_VARIABLE = invalid("A custom variable is wrong, or not enabled in the Google Ads account.")
# Google has not said whether it has the row.
AMBIGUOUS = Meaning(RETRY, TRANSIENT, "Google could not process it, and may have it all the same; it is sent again.")
OUR_BUG = Meaning(GATE_ALL, VALIDATION, "Kilit built a request that Google does not accept: report it to Kilit.")

DATA_MANAGER = (
    "In June 2026 Google closed offline conversion uploads over the Google Ads API to new integrations. Its list of"
    " those who may go on has developer tokens, not accounts, and this one is not on it. Switch the site to the Data"
    " Manager API, or use the script."
)
TERMS = "A user of the Google Ads account has to accept or enable this there, under Conversions."
ENHANCED = "In Google Ads, open Goals > Settings and accept the terms and enable enhanced conversions for leads."
LOGIN = "Open the site's Google login in Kilit and store a new refresh token or a new key of the service account."
ACCESS = (
    "This login has no access to the account. In Google Ads, open Admin > Access and security and add the user or the"
    " service account's e-mail; through a manager account, enter the manager as login customer id in Kilit."
)
CHECK_ACTION = "In Google Ads, open Goals > Conversions > Summary, then correct the action in the site's Google login:"

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
# Reasons that concern data or products that are never sent from here.
IMPOSSIBLE = """
INSUFFICIENT_MATCHED_TRANSACTIONS INSUFFICIENT_TRANSACTIONS DECRYPTION_ERROR DEK_DECRYPTION_ERROR INVALID_WIP
INVALID_KEK WIP_AUTH_FAILED KEK_PERMISSION_DENIED AWS_AUTH_FAILED USER_IDENTIFIER_DECRYPTION_ERROR
USER_ID_NOT_FOUND_FOR_MATCH_ID USER_ID_NOT_FOUND_FOR_DCLID USER_ID_NOT_FOUND_FOR_IMPRESSION_ID
INVALID_MOBILE_ID_FORMAT EVENT_ID_DECODE_ERROR TOO_RECENT_CALL EXPIRED_CALL INVALID_CALL
"""
# What Kilit never builds: a single destination, no partners, one kind of data.
UNBUILT = """
TOO_MANY_DESTINATIONS DUPLICATE_DESTINATION_REFERENCE MULTIPLE_DATA_TYPES_NOT_ALLOWED RESERVED_NAME_USED
THIRD_PARTY_USER_DATA_NOT_ALLOWED DATA_PARTNER_USER_LIST_MUTATE_NOT_ALLOWED
LINKED_ACCOUNT_ONLY_ALLOWED_WITH_DATA_PARTNER_LOGIN_ACCOUNT DIFFERENT_LOGIN_ACCOUNTS_NOT_ALLOWED_FOR_DATA_PARTNER
UNSUPPORTED_OPERATING_ACCOUNT_FOR_DATA_PARTNER UNSUPPORTED_LINKED_ACCOUNT_FOR_DATA_PARTNER
"""
UNSPECIFIED = "UNSPECIFIED"  # the reason of a verdict that names none

GOOGLE_ADS: Mapping[str, Mapping[str, Meaning]] = {
    "conversion_upload_error": {
        **dict.fromkeys(INVALID_DATA.split(), INVALID),
        **dict.fromkeys(("UNPARSEABLE_GCLID", "UNPARSEABLE_WBRAID", "UNPARSEABLE_GBRAID"), MALFORMED_CLICK_ID),
        "CONVERSION_PRECEDES_EVENT": EARLIER_THAN_CLICK,
        "EXPIRED_EVENT": invalid("The click is older than the action's click-through window."),
        "EVENT_NOT_FOUND": UNKNOWN_CLICK,
        # It is said only of rows with user data. In a verdict it means something else: the click id is unknown.
        "CLICK_NOT_FOUND": invalid("Google does not know this click; this can be ignored.", expected=PROCESSING),
        "TOO_RECENT_EVENT": too_early("The click is too recent; Google asks to wait six hours."),
        "TOO_RECENT_CONVERSION_ACTION": NEW_ACTION,
        "TOO_RECENT_CALL": too_early("The call is too recent; Google asks to wait six hours."),
        "ORDER_ID_ALREADY_IN_USE": COUNTED_ORDER,
        "CLICK_CONVERSION_ALREADY_EXISTS": COUNTED_CLICK,
        "TOO_MANY_CONVERSIONS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": account(TERMS),
        "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": account(TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": account(TERMS),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        "INVALID_CONVERSION_ACTION_TYPE": action(
            "The conversion action does not accept uploads of clicks: see the credentials."
        ),
        "UNAUTHORIZED_CUSTOMER": Meaning(
            FATAL, AUTH, "The click belongs to an account that these credentials cannot access."
        ),
        "INVALID_CUSTOMER_FOR_CLICK": invalid(
            "The click belongs to another account: upload to the account that owns its conversions."
        ),
    },
    "conversion_adjustment_upload_error": {
        **dict.fromkeys(INVALID_ADJUSTMENT.split(), INVALID),
        "CONVERSION_ALREADY_RETRACTED": duplicate("Google has already retracted this conversion."),
        "RESTATEMENT_ALREADY_EXISTS": duplicate("Google already has this new value."),
        "CONVERSION_ALREADY_ENHANCED": duplicate(),
        "CONVERSION_NOT_FOUND": too_early(
            "Google does not know this order id; it may take a day to know one.",
            retry_after=A_DAY,
            is_deferred_once=True,
        ),
        "TOO_RECENT_CONVERSION": too_early(
            "The conversion is too recent; Google asks to wait a day.", retry_after=A_DAY
        ),
        "TOO_RECENT_CONVERSION_ACTION": NEW_ACTION,
        "CONVERSION_EXPIRED": invalid("The conversion is too old: Google adjusts it for 54 days."),
        "ADJUSTMENT_PRECEDES_CONVERSION": invalid("The adjustment is older than the conversion."),
        "MORE_RECENT_RESTATEMENT_FOUND": invalid(
            "Google already has a newer value; nothing has to be done.", expected=PROCESSING
        ),
        "CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE": invalid(
            "The conversion action always uses its default value, so Google takes no other."
        ),
        "TOO_MANY_ADJUSTMENTS": invalid("Google takes no more adjustments of this conversion."),
        "TOO_MANY_ADJUSTMENTS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": account(TERMS),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCEMENT": account(TERMS),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        **dict.fromkeys(
            ("INVALID_CONVERSION_ACTION_TYPE", "CONVERSION_ACTION_NOT_ELIGIBLE_FOR_ENHANCEMENT"),
            action("The conversion action does not accept adjustments: see the credentials."),
        ),
    },
    "internal_error": {
        # Reported for single rows of a successful answer; temporary.
        **dict.fromkeys(("INTERNAL_ERROR", "TRANSIENT_ERROR", "DEADLINE_EXCEEDED"), TEMPORARY),
        "ERROR_CODE_NOT_PUBLISHED": INVALID,
    },
    "quota_error": {
        # All others are BUSY.
        "ACCESS_PROHIBITED": account("Google does not allow this project or token to use the API."),
    },
    "request_error": {
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING": account("The login customer id is missing."),
        "CLOUD_PROJECT_NOT_FOUND": account("The OAuth client's Google Cloud project does not exist any more."),
        "DEVELOPER_TOKEN_PARAMETER_MISSING": account("This account still needs a developer token."),
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
        **dict.fromkeys(["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "UNKNOWN", "INTERNAL"], TEMPORARY),
        "RESOURCE_EXHAUSTED": BUSY,
        "UNAUTHENTICATED": REJECTED_LOGIN,
        "PERMISSION_DENIED": NO_ACCESS,
        **dict.fromkeys(("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"), INVALID),
    },
}

# The meaning of all codes that a family does not list above.
FAMILIES: Mapping[str, Meaning] = {
    "date_error": INVALID,
    "authentication_error": REJECTED_LOGIN,
    "authorization_error": NO_ACCESS,
    "header_error": account("The login customer id is wrong."),
    "resource_access_denied_error": account("These credentials may not write to this customer."),
    "not_allowlisted_error": account(DATA_MANAGER),
    "quota_error": BUSY,
    "size_limit_error": TOO_LARGE,
    "grpc": REJECTED_REQUEST,
}

# Names in older documents that Google has renamed, or that never were enum values, except those that mean INVALID.
OLD_NAMES: Mapping[str, Meaning] = {
    **dict.fromkeys(("RESOURCE_EXHAUSTED", "RATE_LIMIT"), BUSY),
    **dict.fromkeys(("UNAVAILABLE", "DEADLINE_EXCEEDED", "BACKEND_ERROR", "TEMPORARILY"), TEMPORARY),
}

REFUSALS: Mapping[str, Meaning] = {
    # The data of a row. The path of the field names it.
    "INVALID_ARGUMENT": INVALID,
    "REQUIRED_FIELD_MISSING": invalid("Google requires a field that this row does not have."),
    "INVALID_FORMAT": invalid("A field of this row has a form that Google cannot read."),
    "INVALID_NUMBER_FORMAT": invalid("A number of this row has a form that Google cannot read."),
    "INVALID_CURRENCY_CODE": invalid("Google does not know this currency: correct it at the source."),
    "INVALID_EVENT": invalid("Google does not accept this event."),
    "EVENT_TIME_INVALID": invalid("The conversion is too old or in the future: check the clock of the source."),
    "NO_IDENTIFIERS_PROVIDED": invalid("Google found no click id in this row."),
    "INVALID_HEX_ENCODING": invalid("A hashed value is not hexadecimal."),
    "INVALID_BASE64_ENCODING": invalid("A hashed value is not Base64."),
    "INVALID_SHA256_FORMAT": invalid("A hashed value is not SHA-256."),
    "TOO_MANY_USER_IDENTIFIERS": invalid("Google takes at most ten user identifiers for a conversion."),
    "FIELD_VALUE_TOO_LONG": invalid("A value of this row is too long for Google."),
    "FIELD_VALUE_TOO_SHORT": invalid("A value of this row is too short for Google."),
    "TOO_FEW_ELEMENTS": invalid("A list of this row has too few entries."),
    "TOO_MANY_ELEMENTS": invalid("A list of this row has too many entries."),
    "INVALID_ENUM_VALUE": invalid("Google does not know a value of this row."),
    "CUSTOM_VARIABLE_VALUE_CONTAINS_PII": invalid("A custom variable contains personal data: remove it at the source."),
    "CUSTOM_VARIABLE_NOT_ENABLED": invalid("In Google Ads, open Goals > Custom variables and enable this variable."),
    "CUSTOM_VARIABLE_NOT_FOUND": invalid("The account has no custom variable of this name: Goals > Custom variables."),
    "INVALID_CUSTOM_VARIABLE_VALUE": invalid("Google does not accept the value of a custom variable."),
    "INVALID_POSTAL_CODE": invalid("Google does not know this postal code."),
    "INVALID_REGION_CODE": invalid("Google does not know this region: it takes two capital letters."),
    "INVALID_MERCHANT_ID": invalid("Google does not know this merchant id."),
    "INVALID_MERCHANT_FEED_LANGUAGE_CODE": invalid("Google does not know this language code."),
    "INVALID_AD_IDENTIFIER_FOR_ACCOUNT": invalid(
        "The click belongs to another account: upload it to the account that owns its conversions."
    ),
    "INVALID_COUPON_CODE": invalid("Google does not accept this coupon code."),
    # The size of the request.
    "TOO_MANY_EVENTS": TOO_LARGE,
    # The conversion action.
    "INVALID_CONVERSION_ACTION_ID": action(f"{CHECK_ACTION} the account has no action of this number."),
    "INVALID_CONVERSION_ACTION_TYPE": action(f"{CHECK_ACTION} it must be an import from clicks."),
    "EVENT_SOURCE_AND_DESTINATION_MISMATCH": action(
        f"{CHECK_ACTION} it must accept the event source of its conversions, which is WEB if none was sent."
    ),
    "CONVERSION_ACTION_TOO_RECENTLY_CREATED": Meaning(
        GATE_ACTION,
        TRANSIENT,
        "The conversion action is too new: Kilit tries again in six hours. Nothing has to be done.",
        retry_after=SIX_HOURS,
    ),
    # The account.
    "INVALID_DESTINATION": account("Check the customer id and the conversion action in the site's Google login."),
    "DESTINATION_ACCOUNT_TYPE_MISMATCH": account(
        "The customer id in the site's Google login is not a Google Ads account."
    ),
    "MISMATCHED_ACCOUNT_TYPE": account("The customer id in the site's Google login is not a Google Ads account."),
    "OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH": account(
        "The login customer id does not manage this account: correct it in the site's Google login, or remove it."
    ),
    "PERMISSION_DENIED": account(ACCESS),
    "IAM_PERMISSION_DENIED": account(ACCESS),
    "NOT_FOUND": account("Google does not find the account: check the customer id in the site's Google login."),
    "TERMS_AND_CONDITIONS_NOT_SIGNED": account(
        "In Google Ads, open Goals > Settings and accept the customer data terms, then run the connection test."
    ),
    "DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": account(ENHANCED),
    "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED": account(ENHANCED),
    "DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": account(
        "Google's data policy does not allow enhanced conversions for this account: ask your Google representative."
    ),
    "NOT_ALLOWLISTED": account("Google has not enabled this feature for the account: ask your Google representative."),
    "EU_POLITICAL_ADVERTISING_DECLARATION_REQUIRED": account(
        "In Google Ads, open Campaigns > Settings and declare whether campaigns contain EU political advertising."
    ),
    # The login and its project.
    "UNAUTHENTICATED": account(f"Google rejects the login. {LOGIN}"),
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": account(
        "The refresh token is not for the Data Manager API: consent again with both scopes, adwords and datamanager,"
        " and store the new refresh token."
    ),
    "SERVICE_DISABLED": account(
        "Enable the Data Manager API in the Google Cloud project of the OAuth client or service account"
        " (APIs & Services > Library), then run the connection test."
    ),
    "RESOURCE_EXHAUSTED": Meaning(RETRY, RATE_LIMIT, "Google asked for fewer requests from this Google Cloud project."),
    # Google's side. The request may have been processed all the same.
    **dict.fromkeys(["INTERNAL_ERROR", "DEADLINE_EXCEEDED", "UNAVAILABLE", "UNKNOWN", "ABORTED"], TEMPORARY),
    **dict.fromkeys(["INTERNAL", "CANCELLED", "ERROR_REASON_UNSPECIFIED"], TEMPORARY),
    **dict.fromkeys(UNBUILT.split(), OUR_BUG),
    # Only on questions for a verdict: the receipt is worthless.
    **dict.fromkeys(("INVALID_REQUEST_ID", "REQUEST_TOO_OLD"), TEMPORARY),
}

VERDICTS: Mapping[str, Meaning] = {
    **dict.fromkeys(
        ("INVALID_GCLID", "INVALID_GBRAID", "INVALID_WBRAID", "INVALID_AD_IDENTIFIERS"), UNREADABLE_CLICK_ID
    ),
    "CONVERSION_PRECEDES_CLICK": EARLIER_THAN_CLICK,
    **dict.fromkeys(("EVENT_TOO_OLD", "EXPIRED_CLICK"), TOO_OLD),
    **dict.fromkeys(["INVALID_CLICK", "USER_ID_NOT_FOUND", "USER_ID_NOT_FOUND_FOR_GCLID"], UNKNOWN_CLICK),
    **dict.fromkeys(("CLICK_NOT_FOUND", "MATCH_ID_NOT_FOUND"), UNKNOWN_CLICK),
    "INVALID_OPERATING_ACCOUNT_FOR_CLICK": OTHER_ACCOUNT,
    "OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER": OTHER_ACCOUNT,
    "TOO_RECENT_CLICK": too_early("The click is too recent; it is sent again in six hours."),
    "DESTINATION_TOO_RECENTLY_CREATED": Meaning(
        GATE_ACTION,
        TRANSIENT,
        "The conversion action is too new; the next probe is sent in six hours.",
        retry_after=SIX_HOURS,
    ),
    "DUPLICATE_TRANSACTION_ID": COUNTED_ORDER,
    "DUPLICATE_GCLID": COUNTED_CLICK,
    "DENIED_CONSENT": invalid(
        "The visitor denied consent, or the account's default does; nothing has to be fixed.", expected=UPLOADED
    ),
    "NO_CONSENT": invalid(
        "The account has not given consent to Google's core platform services, so Google drops such conversions.",
        expected=UPLOADED,
    ),
    "UNKNOWN_CONSENT": invalid(
        "Neither the conversion nor the account says whether the visitor consented: send consent from the source, or"
        " set a default in the Google Ads account.",
        if_all=GATE,
    ),
    "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED": account(
        "A user of the Google Ads account has to accept the terms of enhanced conversions, under Conversions."
    ),
    "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID": invalid(
        "The conversion action counts one conversion per click, which Google does not allow with wbraid or gbraid:"
        " let it count every conversion."
    ),
    "EXTERNAL_ATTRIBUTION_DATA_MISSING": invalid(
        "The conversion action uses external attribution, which is not sent from here: use another action."
    ),
    **dict.fromkeys(("INVALID_CUSTOM_VARIABLE", "CUSTOM_VARIABLE_NOT_ENABLED"), CUSTOM_VARIABLE),
    **dict.fromkeys(("INVALID_EVENT", "INVALID_FORMAT", "INVALID_MERCHANT_ID"), REJECTED_DATA),
    # For adjustments: the conversion may still be on its way, so the first time it waits.
    "ORIGINAL_CONVERSIONS_NOT_FOUND": too_early(
        "Google does not find the conversion of this adjustment.", retry_after=A_DAY, is_deferred_once=True
    ),
    **dict.fromkeys(IMPOSSIBLE.split(), REJECTED_DATA),
    **dict.fromkeys(("INTERNAL_ERROR", UNSPECIFIED), AMBIGUOUS),
}


def ads_meaning(name: str, *, family: str = "") -> Meaning:
    """Look a name up in its family, then the family, then old names; better to fail a row than to send it forever."""
    return GOOGLE_ADS.get(family, {}).get(name) or FAMILIES.get(family) or OLD_NAMES.get(name) or INVALID


def refusal_meaning(name: str, *, names_row: bool) -> Meaning:
    """Return what a reason means; one that is not listed is about the data of the row that it names, or the account."""
    return REFUSALS.get(name) or (INVALID if names_row else REJECTED_REQUEST)


def verdict_meaning(name: str) -> Meaning:
    return VERDICTS.get(name, AMBIGUOUS)
