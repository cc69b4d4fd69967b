"""The tables of Data Manager reasons: what each means for a row.

`AT_ONCE` has the reasons of a refused request, and the statuses of refusals without one. `LATER` has the reasons of a
verdict (`ProcessingErrorReason`), without their prefix. Google may add names at any time. `at_once` has a rule for
names that are not listed; in a verdict such a name says nothing about the row, so the row is retried and its outcome
is unknown.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Meaning

TOO_NEW = timedelta(hours=6)  # how long Google asks to wait for a new conversion action

invalid = partial(Meaning, Disposition.FATAL, Category.VALIDATION)
account = partial(Meaning, Disposition.GATE, Category.AUTH)
action = partial(Meaning, Disposition.GATE_ACTION, Category.VALIDATION)

TEMPORARY = Meaning(Disposition.RETRY, Category.TRANSIENT)
TOO_LARGE = Meaning(Disposition.SPLIT, Category.VALIDATION)
OUR_BUG = Meaning(
    Disposition.GATE_ALL, Category.VALIDATION, "Kilit built a request that Google does not accept: report it to Kilit."
)
ENHANCED = "In Google Ads, open Goals > Settings and accept the terms and enable enhanced conversions for leads."
LOGIN = "Open the site's Google login in Kilit and store a new refresh token or a new key of the service account."
ACCESS = (
    "This login has no access to the account. In Google Ads, open Admin > Access and security and add the user or the"
    " service account's e-mail; through a manager account, enter the manager as login customer id in Kilit."
)
CHECK_ACTION = "In Google Ads, open Goals > Conversions > Summary, then correct the action in the site's Google login:"

AT_ONCE: Mapping[str, Meaning] = {
    # The data of a row. The path of the field names it.
    "INVALID_ARGUMENT": invalid(),
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
        Disposition.GATE_ACTION,
        Category.TRANSIENT,
        "The conversion action is too new: Kilit tries again in six hours. Nothing has to be done.",
        retry_after=TOO_NEW,
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
    "RESOURCE_EXHAUSTED": Meaning(
        Disposition.RETRY, Category.RATE_LIMIT, "Google asked for fewer requests from this Google Cloud project."
    ),
    # Google's side. The request may have been processed all the same.
    **dict.fromkeys(("INTERNAL_ERROR", "DEADLINE_EXCEEDED", "UNAVAILABLE", "UNKNOWN", "ABORTED"), TEMPORARY),
    **dict.fromkeys(("INTERNAL", "CANCELLED", "ERROR_REASON_UNSPECIFIED"), TEMPORARY),
    # What Kilit never builds: a single destination, no partners, one kind of data.
    **dict.fromkeys(("TOO_MANY_DESTINATIONS", "DUPLICATE_DESTINATION_REFERENCE"), OUR_BUG),
    **dict.fromkeys(("MULTIPLE_DATA_TYPES_NOT_ALLOWED", "RESERVED_NAME_USED"), OUR_BUG),
    **dict.fromkeys(("THIRD_PARTY_USER_DATA_NOT_ALLOWED", "DATA_PARTNER_USER_LIST_MUTATE_NOT_ALLOWED"), OUR_BUG),
    "LINKED_ACCOUNT_ONLY_ALLOWED_WITH_DATA_PARTNER_LOGIN_ACCOUNT": OUR_BUG,
    "DIFFERENT_LOGIN_ACCOUNTS_NOT_ALLOWED_FOR_DATA_PARTNER": OUR_BUG,
    "UNSUPPORTED_OPERATING_ACCOUNT_FOR_DATA_PARTNER": OUR_BUG,
    "UNSUPPORTED_LINKED_ACCOUNT_FOR_DATA_PARTNER": OUR_BUG,
    # Only on questions for a verdict: the receipt is worthless.
    **dict.fromkeys(("INVALID_REQUEST_ID", "REQUEST_TOO_OLD"), TEMPORARY),
}

# With a row's name such a reason is about its data, without one about the account.
UNLISTED_ROW = invalid()
UNLISTED = Meaning(Disposition.GATE, Category.VALIDATION, "Google rejects the whole request.")


def at_once(name: str, *, names_row: bool) -> Meaning:
    """Return what a reason of a refusal means, for the row that it names or for the whole request."""
    return AT_ONCE.get(name) or (UNLISTED_ROW if names_row else UNLISTED)


# The second is for the one name that Google spells without REASON_.
PREFIXES = ("PROCESSING_ERROR_REASON_", "PROCESSING_ERROR_")
UNSPECIFIED = "UNSPECIFIED"


duplicate = partial(Meaning, Disposition.DUPLICATE, Category.VALIDATION)

OTHER_ACCOUNT = invalid(
    "The click is from ads of another account: the customer id must be the account that owns the conversion action.",
    if_all=Disposition.GATE,
)
NOT_FOUND = invalid("Google does not know this click; it is not from this account's ads.")
UNREADABLE_ID = invalid("Google cannot read the click id: it was cut or changed at the source.")
EXPIRED = invalid("The click or the conversion is too old; Google does not count it any more.")
CUSTOM_VARIABLE = invalid("A custom variable is wrong, or not enabled in the Google Ads account.")
# Google has not said whether it has the row.
AMBIGUOUS = Meaning(
    Disposition.RETRY,
    Category.TRANSIENT,
    "Google could not process it, and may have it all the same; it is sent again.",
)
# Reasons that concern data or products that are never sent from here.
IMPOSSIBLE = """
INSUFFICIENT_MATCHED_TRANSACTIONS INSUFFICIENT_TRANSACTIONS DECRYPTION_ERROR DEK_DECRYPTION_ERROR INVALID_WIP
INVALID_KEK WIP_AUTH_FAILED KEK_PERMISSION_DENIED AWS_AUTH_FAILED USER_IDENTIFIER_DECRYPTION_ERROR
USER_ID_NOT_FOUND_FOR_MATCH_ID USER_ID_NOT_FOUND_FOR_DCLID USER_ID_NOT_FOUND_FOR_IMPRESSION_ID
INVALID_MOBILE_ID_FORMAT EVENT_ID_DECODE_ERROR TOO_RECENT_CALL EXPIRED_CALL INVALID_CALL
"""

LATER: Mapping[str, Meaning] = {
    **dict.fromkeys(("INVALID_GCLID", "INVALID_GBRAID", "INVALID_WBRAID", "INVALID_AD_IDENTIFIERS"), UNREADABLE_ID),
    "CONVERSION_PRECEDES_CLICK": invalid(
        "The conversion is older than its click, usually because of a wrong time zone at the source."
    ),
    **dict.fromkeys(("EVENT_TOO_OLD", "EXPIRED_CLICK"), EXPIRED),
    **dict.fromkeys(("INVALID_CLICK", "USER_ID_NOT_FOUND", "USER_ID_NOT_FOUND_FOR_GCLID"), NOT_FOUND),
    **dict.fromkeys(("CLICK_NOT_FOUND", "MATCH_ID_NOT_FOUND"), NOT_FOUND),
    "INVALID_OPERATING_ACCOUNT_FOR_CLICK": OTHER_ACCOUNT,
    "OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER": OTHER_ACCOUNT,
    "TOO_RECENT_CLICK": Meaning(
        Disposition.DEFER, Category.TRANSIENT, "The click is too recent; it is sent again in six hours."
    ),
    "DESTINATION_TOO_RECENTLY_CREATED": Meaning(
        Disposition.GATE_ACTION,
        Category.TRANSIENT,
        "The conversion action is too new; the next probe is sent in six hours.",
        retry_after=timedelta(hours=6),
    ),
    "DUPLICATE_TRANSACTION_ID": duplicate("Google has already counted this order id."),
    "DUPLICATE_GCLID": duplicate("Google already has a conversion of this click and time."),
    "DENIED_CONSENT": invalid("The visitor denied consent, or the account's default does; nothing has to be fixed."),
    "NO_CONSENT": invalid(
        "The account has not given consent to Google's core platform services, so Google drops such conversions."
    ),
    "UNKNOWN_CONSENT": invalid(
        "Neither the conversion nor the account says whether the visitor consented: send consent from the source, or"
        " set a default in the Google Ads account.",
        if_all=Disposition.GATE,
    ),
    "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED": Meaning(
        Disposition.GATE,
        Category.AUTH,
        "A user of the Google Ads account has to accept the terms of enhanced conversions, under Conversions.",
    ),
    "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID": invalid(
        "The conversion action counts one conversion per click, which Google does not allow with wbraid or gbraid:"
        " let it count every conversion."
    ),
    "EXTERNAL_ATTRIBUTION_DATA_MISSING": invalid(
        "The conversion action uses external attribution, which is not sent from here: use another action."
    ),
    **dict.fromkeys(("INVALID_CUSTOM_VARIABLE", "CUSTOM_VARIABLE_NOT_ENABLED"), CUSTOM_VARIABLE),
    **dict.fromkeys(("INVALID_EVENT", "INVALID_FORMAT", "INVALID_MERCHANT_ID"), invalid("Google rejects the data.")),
    # For adjustments: the conversion may still be on its way, so the first time it waits (DEFERRED_ONCE).
    "ORIGINAL_CONVERSIONS_NOT_FOUND": Meaning(
        Disposition.DEFER,
        Category.TRANSIENT,
        "Google does not find the conversion of this adjustment.",
        retry_after=timedelta(hours=24),
    ),
    **dict.fromkeys(IMPOSSIBLE.split(), invalid("Google rejects the data.")),
    **dict.fromkeys(("INTERNAL_ERROR", UNSPECIFIED), AMBIGUOUS),
}


def reason_name(name: str) -> str:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def classify_later(name: str) -> Meaning:
    return LATER.get(name, AMBIGUOUS)
