"""What each reason of a verdict means for a row (`ProcessingErrorReason`): the table of errors that come later.

Names have no prefix here. A name that is not listed says nothing about the row: it is retried, and its outcome is
unknown, so that "already exists" can still complete it.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from ociqueue.states import Category
from ociqueue.uploader.meanings import Meaning
from ociqueue.uploader.results import Disposition

# The second is for the one name that Google spells without REASON_.
PREFIXES = ("PROCESSING_ERROR_REASON_", "PROCESSING_ERROR_")
UNSPECIFIED = "UNSPECIFIED"


invalid = partial(Meaning, Disposition.FATAL, Category.VALIDATION)
known = partial(Meaning, Disposition.DUPLICATE, Category.VALIDATION)

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
    "DUPLICATE_TRANSACTION_ID": known("Google has already counted this order id."),
    "DUPLICATE_GCLID": known("Google already has a conversion of this click and time."),
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
    """Return Google's name of a reason without its prefix."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def classify_later(name: str) -> Meaning:
    return LATER.get(name, AMBIGUOUS)
