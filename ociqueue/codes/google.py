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

from kilit.batches.error_entries import ErrorEntry, WhoseTurn
from kilit.sentences import Sentence, joined, sentence
from ociqueue.codes import entries
from ociqueue.states import Category, ConversionStatus, Disposition

FATAL, RETRY, DEFER, DUPLICATE = Disposition.FATAL, Disposition.RETRY, Disposition.DEFER, Disposition.DUPLICATE
SPLIT, GATE, GATE_ACTION, GATE_ALL = Disposition.SPLIT, Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL
VALIDATION, TRANSIENT, PERMANENT = Category.VALIDATION, Category.TRANSIENT, Category.PERMANENT
AUTH, RATE_LIMIT = Category.AUTH, Category.RATE_LIMIT
PROCESSING, UPLOADED, WAITING = ConversionStatus.PROCESSING, ConversionStatus.UPLOADED, ConversionStatus.RETRY
# For a row with several errors, the first of these decides. DUPLICATE is last, so it counts only when alone.
WORST_FIRST = (FATAL, GATE_ALL, GATE, GATE_ACTION, SPLIT, DEFER, RETRY, DUPLICATE)


# The names by which their sentences are stored. Rows have them for years: one may be added, none may be changed.
STORED = """
WRONG_DATA TEMPORARY REJECTED_ACCOUNT BUSY ENDED REJECTED_SCRIPT MALFORMED_CLICK_ID UNREADABLE_CLICK_ID NO_CLICK_ID
TWO_CLICK_IDS UNKNOWN_CLICK IGNORED_CLICK OTHER_ACCOUNT EARLIER_THAN_CLICK WRONG_TIME UNREADABLE_TIME EXPIRED_CLICK
TOO_OLD EXPIRED RECENT_CLICK RECENT_CALL RECENT_ACTION COUNTED_ORDER COUNTED_CLICK MISSING_FIELD UNREADABLE_FIELD
UNKNOWN_VALUE WRONG_LENGTH WRONG_CURRENCY WRONG_AMOUNT WRONG_CONSENT WRONG_HASH PERSONAL_DATA WRONG_IDENTIFIER
CUSTOM_VARIABLE ATTRIBUTION ONE_PER_CLICK NO_TRACKING DENIED NO_CONSENT UNKNOWN_CONSENT WITHHELD NO_ACTION
WRONG_ACTION WRONG_SOURCE REJECTED_LOGIN UNREADABLE_LOGIN NO_ACCESS NO_ACCESS_TO_CLICK NO_API WRONG_MANAGER
NO_PROJECT NO_TOKEN WRONG_ACCOUNT WRONG_SCOPE API_OFF NOT_ACCEPTED NOT_OFFERED POLITICAL CLOSED_API REJECTED_REQUEST
TOO_LARGE OLD_API OUR_BUG AMBIGUOUS LOST UNREACHABLE THREW SPENT SKIPPED BY_HAND RETRACTED NOT_MATCHED
ALREADY_ADJUSTED NEWER_VALUE OVERTAKEN NOT_KNOWN_YET RECENT_CONVERSION TOO_OLD_TO_ADJUST EARLIER_THAN_CONVERSION
FIXED_VALUE TOO_MANY_ADJUSTMENTS NO_ADJUSTMENTS ORIGINAL_FAILED ORIGINAL_UNKNOWN ORIGINAL_ERASED INACTIVE
"""


def _sentences(name: str) -> list[Sentence]:
    entry = getattr(entries, name)
    texts = {"CAUSE": entry.cause, "ADVICE": entry.advice}
    return [sentence(f"{name}_{part}", text) for part, text in texts.items() if text]


SENTENCES: Mapping[ErrorEntry, list[Sentence]] = {getattr(entries, name): _sentences(name) for name in STORED.split()}


@dataclass(frozen=True)
class Meaning:
    """What happens to a row with this error, and the entry for those who read of it.

    An expected failure leaves nothing to do. It is not in failure rates, and a group of them is not retried.
    """

    disposition: Disposition
    category: Category
    entry: ErrorEntry
    if_all: Disposition | None = None  # what it means when every row of a reply has it
    retry_after: timedelta | None = None  # when to try again, if not after the usual wait
    expected: ConversionStatus | None = None  # the state in which an expected failure is found
    is_deferred_once: bool = False  # a second time it is fatal

    @property
    def hint(self) -> Sentence:
        """The cause, and what an administrator has to do; what else helps depends on the row when somebody reads it."""
        cause, *advice = SENTENCES[self.entry]
        return joined(cause, *(advice if self.entry.turn == WhoseTurn.ADMIN else ()))


def worst(meanings: Iterable[Meaning]) -> Meaning:
    """Return the meaning that decides for a row with several errors: a duplicate only if all of them are."""
    return min(meanings, key=lambda meaning: WORST_FIRST.index(meaning.disposition))


invalid = partial(Meaning, FATAL, VALIDATION)
too_early = partial(Meaning, DEFER, TRANSIENT)
duplicate = partial(Meaning, DUPLICATE, VALIDATION)
account = partial(Meaning, GATE, AUTH)
action = partial(Meaning, GATE_ACTION, VALIDATION)
SIX_HOURS, A_DAY = timedelta(hours=6), timedelta(days=1)
INVALID = invalid(entries.WRONG_DATA)
TEMPORARY = Meaning(RETRY, TRANSIENT, entries.TEMPORARY)
BUSY = Meaning(RETRY, RATE_LIMIT, entries.BUSY)
TOO_LARGE = Meaning(SPLIT, VALIDATION, entries.TOO_LARGE)
# It says nothing about a row.
REJECTED_REQUEST = Meaning(GATE, VALIDATION, entries.REJECTED_REQUEST)
REJECTED_LOGIN = account(entries.REJECTED_LOGIN)
NO_ACCESS = account(entries.NO_ACCESS)
NO_ACTION = action(entries.NO_ACTION)
NEW_ACTION = too_early(entries.RECENT_ACTION)
OTHER_ACCOUNT = invalid(entries.OTHER_ACCOUNT, if_all=GATE)
# Google has not said whether it has the row.
AMBIGUOUS = Meaning(RETRY, TRANSIENT, entries.AMBIGUOUS)
OUR_BUG = Meaning(GATE_ALL, VALIDATION, entries.OUR_BUG)

YOUNG_ACTION = Meaning(GATE_ACTION, TRANSIENT, entries.RECENT_ACTION, retry_after=SIX_HOURS)

INVALID_ADJUSTMENT = """
DUPLICATE_ADJUSTMENT_IN_REQUEST DUPLICATE_ENHANCEMENT_IN_REQUEST INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER
GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET MISSING_ORDER_ID_FOR_WEBPAGE ORDER_ID_CONTAINS_PII INVALID_JOB_ID
"""
UNKNOWN_VALUES = """
INVALID_ENUM_VALUE INVALID_POSTAL_CODE INVALID_REGION_CODE INVALID_MERCHANT_ID INVALID_MERCHANT_FEED_LANGUAGE_CODE
"""
CUSTOM_VARIABLES = "CUSTOM_VARIABLE_NOT_ENABLED CUSTOM_VARIABLE_NOT_FOUND INVALID_CUSTOM_VARIABLE_VALUE"
NOT_ACCEPTED = """
TERMS_AND_CONDITIONS_NOT_SIGNED DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS
DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED
"""
UNKNOWN_CLICKS = "INVALID_CLICK USER_ID_NOT_FOUND USER_ID_NOT_FOUND_FOR_GCLID CLICK_NOT_FOUND MATCH_ID_NOT_FOUND"
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
        **dict.fromkeys(["DUPLICATE_ORDER_ID", "DUPLICATE_CLICK_CONVERSION_IN_REQUEST", "INVALID_JOB_ID"], INVALID),
        "GBRAID_WBRAID_BOTH_SET": invalid(entries.TWO_CLICK_IDS),
        "CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME": invalid(entries.NO_TRACKING),
        "EXTERNAL_ATTRIBUTION_DATA_SET_FOR_NON_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": invalid(entries.ATTRIBUTION),
        "EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": invalid(entries.ATTRIBUTION),
        "ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION": invalid(entries.ATTRIBUTION),
        "CUSTOM_VARIABLE_NOT_ENABLED": invalid(entries.CUSTOM_VARIABLE),
        **dict.fromkeys(
            ("CUSTOM_VARIABLE_VALUE_CONTAINS_PII", "ORDER_ID_CONTAINS_PII"), invalid(entries.PERSONAL_DATA)
        ),
        **dict.fromkeys(("INVALID_USER_IDENTIFIER", "UNSUPPORTED_USER_IDENTIFIER"), invalid(entries.WRONG_IDENTIFIER)),
        "CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY": invalid(entries.NOT_OFFERED),
        "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID": invalid(entries.ONE_PER_CLICK),
        **dict.fromkeys(
            ("UNPARSEABLE_GCLID", "UNPARSEABLE_WBRAID", "UNPARSEABLE_GBRAID"), invalid(entries.MALFORMED_CLICK_ID)
        ),
        "CONVERSION_PRECEDES_EVENT": invalid(entries.EARLIER_THAN_CLICK),
        "EXPIRED_EVENT": invalid(entries.EXPIRED_CLICK),
        "EVENT_NOT_FOUND": invalid(entries.UNKNOWN_CLICK),
        # It is said only of rows with user data. In a verdict it means something else: the click id is unknown.
        "CLICK_NOT_FOUND": invalid(entries.IGNORED_CLICK, expected=PROCESSING),
        "TOO_RECENT_EVENT": too_early(entries.RECENT_CLICK),
        "TOO_RECENT_CONVERSION_ACTION": NEW_ACTION,
        "TOO_RECENT_CALL": too_early(entries.RECENT_CALL),
        "ORDER_ID_ALREADY_IN_USE": duplicate(entries.COUNTED_ORDER),
        "CLICK_CONVERSION_ALREADY_EXISTS": duplicate(entries.COUNTED_CLICK),
        "TOO_MANY_CONVERSIONS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": account(entries.NOT_ACCEPTED),
        "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS": account(entries.NOT_ACCEPTED),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS": account(entries.NOT_OFFERED),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        "INVALID_CONVERSION_ACTION_TYPE": action(entries.WRONG_ACTION),
        "UNAUTHORIZED_CUSTOMER": Meaning(FATAL, AUTH, entries.NO_ACCESS_TO_CLICK),
        "INVALID_CUSTOMER_FOR_CLICK": invalid(entries.OTHER_ACCOUNT),
    },
    "conversion_adjustment_upload_error": {
        # Kilit sends no enhancements.
        **dict.fromkeys(INVALID_ADJUSTMENT.split(), INVALID),
        **dict.fromkeys(
            ("CONVERSION_ALREADY_RETRACTED", "RESTATEMENT_ALREADY_EXISTS", "CONVERSION_ALREADY_ENHANCED"),
            duplicate(entries.ALREADY_ADJUSTED),
        ),
        "CONVERSION_NOT_FOUND": too_early(entries.NOT_KNOWN_YET, retry_after=A_DAY, is_deferred_once=True),
        "TOO_RECENT_CONVERSION": too_early(entries.RECENT_CONVERSION, retry_after=A_DAY),
        "TOO_RECENT_CONVERSION_ACTION": NEW_ACTION,
        "CONVERSION_EXPIRED": invalid(entries.TOO_OLD_TO_ADJUST),
        "ADJUSTMENT_PRECEDES_CONVERSION": invalid(entries.EARLIER_THAN_CONVERSION),
        "MORE_RECENT_RESTATEMENT_FOUND": invalid(entries.NEWER_VALUE, expected=PROCESSING),
        "CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE": invalid(entries.FIXED_VALUE),
        "TOO_MANY_ADJUSTMENTS": invalid(entries.TOO_MANY_ADJUSTMENTS),
        "TOO_MANY_ADJUSTMENTS_IN_REQUEST": TOO_LARGE,
        "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS": account(entries.NOT_ACCEPTED),
        "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCEMENT": account(entries.NOT_OFFERED),
        "NO_CONVERSION_ACTION_FOUND": NO_ACTION,
        **dict.fromkeys(
            ("INVALID_CONVERSION_ACTION_TYPE", "CONVERSION_ACTION_NOT_ELIGIBLE_FOR_ENHANCEMENT"),
            action(entries.NO_ADJUSTMENTS),
        ),
    },
    "internal_error": {
        # Reported for single rows of a successful answer; temporary.
        **dict.fromkeys(("INTERNAL_ERROR", "TRANSIENT_ERROR", "DEADLINE_EXCEEDED"), TEMPORARY),
        "ERROR_CODE_NOT_PUBLISHED": INVALID,
    },
    "quota_error": {
        # All others are BUSY.
        "ACCESS_PROHIBITED": account(entries.NO_API),
    },
    "request_error": {
        "LOGIN_CUSTOMER_ID_PARAMETER_MISSING": account(entries.WRONG_MANAGER),
        "CLOUD_PROJECT_NOT_FOUND": account(entries.NO_PROJECT),
        "DEVELOPER_TOKEN_PARAMETER_MISSING": account(entries.NO_TOKEN),
        "UNSUPPORTED_VERSION": Meaning(GATE_ALL, VALIDATION, entries.OLD_API),
        "RPC_DEADLINE_TOO_SHORT": TEMPORARY,
    },
    "authorization_error": {"CUSTOMER_NOT_ENABLED": account(entries.INACTIVE)},
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
    "header_error": account(entries.WRONG_MANAGER),
    "resource_access_denied_error": NO_ACCESS,
    "not_allowlisted_error": account(entries.CLOSED_API),
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
    **dict.fromkeys(["INVALID_ARGUMENT", "INVALID_EVENT", "INVALID_COUPON_CODE"], INVALID),
    "REQUIRED_FIELD_MISSING": invalid(entries.MISSING_FIELD),
    **dict.fromkeys(("INVALID_FORMAT", "INVALID_NUMBER_FORMAT"), invalid(entries.UNREADABLE_FIELD)),
    "INVALID_CURRENCY_CODE": invalid(entries.WRONG_CURRENCY),
    "EVENT_TIME_INVALID": invalid(entries.WRONG_TIME),
    "NO_IDENTIFIERS_PROVIDED": invalid(entries.NO_CLICK_ID),
    **dict.fromkeys(
        ("INVALID_HEX_ENCODING", "INVALID_BASE64_ENCODING", "INVALID_SHA256_FORMAT"), invalid(entries.WRONG_HASH)
    ),
    "TOO_MANY_USER_IDENTIFIERS": invalid(entries.WRONG_IDENTIFIER),
    **dict.fromkeys(
        ("FIELD_VALUE_TOO_LONG", "FIELD_VALUE_TOO_SHORT", "TOO_FEW_ELEMENTS", "TOO_MANY_ELEMENTS"),
        invalid(entries.WRONG_LENGTH),
    ),
    **dict.fromkeys(UNKNOWN_VALUES.split(), invalid(entries.UNKNOWN_VALUE)),
    "CUSTOM_VARIABLE_VALUE_CONTAINS_PII": invalid(entries.PERSONAL_DATA),
    **dict.fromkeys(CUSTOM_VARIABLES.split(), invalid(entries.CUSTOM_VARIABLE)),
    "INVALID_AD_IDENTIFIER_FOR_ACCOUNT": invalid(entries.OTHER_ACCOUNT),
    # The size of the request.
    "TOO_MANY_EVENTS": TOO_LARGE,
    # The conversion action.
    "INVALID_CONVERSION_ACTION_ID": NO_ACTION,
    "INVALID_CONVERSION_ACTION_TYPE": action(entries.WRONG_ACTION),
    "EVENT_SOURCE_AND_DESTINATION_MISMATCH": action(entries.WRONG_SOURCE),
    "CONVERSION_ACTION_TOO_RECENTLY_CREATED": YOUNG_ACTION,
    # The account.
    **dict.fromkeys(
        ("INVALID_DESTINATION", "DESTINATION_ACCOUNT_TYPE_MISMATCH", "MISMATCHED_ACCOUNT_TYPE", "NOT_FOUND"),
        account(entries.WRONG_ACCOUNT),
    ),
    "OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH": account(entries.WRONG_MANAGER),
    **dict.fromkeys(("PERMISSION_DENIED", "IAM_PERMISSION_DENIED"), NO_ACCESS),
    **dict.fromkeys(NOT_ACCEPTED.split(), account(entries.NOT_ACCEPTED)),
    **dict.fromkeys(
        ("DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS", "NOT_ALLOWLISTED"),
        account(entries.NOT_OFFERED),
    ),
    "EU_POLITICAL_ADVERTISING_DECLARATION_REQUIRED": account(entries.POLITICAL),
    # The login and its project.
    "UNAUTHENTICATED": REJECTED_LOGIN,
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": account(entries.WRONG_SCOPE),
    "SERVICE_DISABLED": account(entries.API_OFF),
    "RESOURCE_EXHAUSTED": BUSY,
    # Google's side. The request may have been processed all the same.
    **dict.fromkeys(["INTERNAL_ERROR", "DEADLINE_EXCEEDED", "UNAVAILABLE", "UNKNOWN", "ABORTED"], TEMPORARY),
    **dict.fromkeys(["INTERNAL", "CANCELLED", "ERROR_REASON_UNSPECIFIED"], TEMPORARY),
    **dict.fromkeys(UNBUILT.split(), OUR_BUG),
    # Only on questions for a verdict: the receipt is worthless.
    **dict.fromkeys(("INVALID_REQUEST_ID", "REQUEST_TOO_OLD"), TEMPORARY),
}

VERDICTS: Mapping[str, Meaning] = {
    **dict.fromkeys(
        ("INVALID_GCLID", "INVALID_GBRAID", "INVALID_WBRAID", "INVALID_AD_IDENTIFIERS"),
        invalid(entries.UNREADABLE_CLICK_ID),
    ),
    "CONVERSION_PRECEDES_CLICK": invalid(entries.EARLIER_THAN_CLICK),
    **dict.fromkeys(("EVENT_TOO_OLD", "EXPIRED_CLICK"), invalid(entries.TOO_OLD)),
    **dict.fromkeys(UNKNOWN_CLICKS.split(), invalid(entries.UNKNOWN_CLICK)),
    **dict.fromkeys(
        ("INVALID_OPERATING_ACCOUNT_FOR_CLICK", "OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER"), OTHER_ACCOUNT
    ),
    "TOO_RECENT_CLICK": too_early(entries.RECENT_CLICK),
    "DESTINATION_TOO_RECENTLY_CREATED": YOUNG_ACTION,
    "DUPLICATE_TRANSACTION_ID": duplicate(entries.COUNTED_ORDER),
    "DUPLICATE_GCLID": duplicate(entries.COUNTED_CLICK),
    "DENIED_CONSENT": invalid(entries.DENIED, expected=UPLOADED),
    "NO_CONSENT": invalid(entries.NO_CONSENT, expected=UPLOADED),
    "UNKNOWN_CONSENT": invalid(entries.UNKNOWN_CONSENT, if_all=GATE),
    "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED": account(entries.NOT_ACCEPTED),
    "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID": invalid(entries.ONE_PER_CLICK),
    "EXTERNAL_ATTRIBUTION_DATA_MISSING": invalid(entries.ATTRIBUTION),
    **dict.fromkeys(("INVALID_CUSTOM_VARIABLE", "CUSTOM_VARIABLE_NOT_ENABLED"), invalid(entries.CUSTOM_VARIABLE)),
    **dict.fromkeys(("INVALID_EVENT", "INVALID_FORMAT", "INVALID_MERCHANT_ID"), INVALID),
    # For adjustments: the conversion may still be on its way, so the first time it waits.
    "ORIGINAL_CONVERSIONS_NOT_FOUND": too_early(entries.NOT_KNOWN_YET, retry_after=A_DAY, is_deferred_once=True),
    **dict.fromkeys(IMPOSSIBLE.split(), INVALID),
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
