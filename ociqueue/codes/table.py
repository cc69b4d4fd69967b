"""All error codes: what the script reports, what Kilit ends itself, and what follows from these and from Google's."""

from collections.abc import Mapping
from typing import Final

from ociqueue.codes.google import (
    DUPLICATE,
    GOOGLE_ADS,
    PROCESSING,
    REFUSALS,
    UPLOADED,
    VERDICTS,
    WAITING,
    Meaning,
    ended,
)
from ociqueue.states import ConversionStatus

# Our name for CLICK_NOT_FOUND in a verdict of the Data Manager API on a row that has no click id.
USER_DATA_NOT_MATCHED: Final = "USER_DATA_NOT_MATCHED"
# The visitor denied consent, and the site does not send such rows.
WITHHELD: Final = "WITHHELD_CONSENT_DENIED"
# It waited until Google would not take it any more. No expected failure: somebody has to look why it waited.
EXPIRED: Final = "EXPIRED_BEFORE_UPLOAD"
ORDER_ID_IN_USE: Final = "ORDER_ID_ALREADY_IN_USE"

# The script left the row out on purpose.
SCRIPT: Mapping[str, Meaning] = {"SKIPPED_BY_SCRIPT": ended(expected=PROCESSING)}
OWN: Mapping[str, Meaning] = {
    EXPIRED: ended("It waited until it was too old for Google. It cannot be sent any more."),
    WITHHELD: ended("The visitor denied consent, and the site does not send such conversions.", expected=WAITING),
    # It was retracted while it waited, so it was never sent.
    "RETRACTED_BEFORE_UPLOAD": ended(expected=WAITING),
    # No click fits the hashed e-mail or phone of a row without a click id, as for most people who come without an ad.
    USER_DATA_NOT_MATCHED: ended(expected=UPLOADED),
}
# A newer adjustment of the same conversion takes its place.
OVERTAKEN: Mapping[str, Meaning] = {"OVERTAKEN": ended(expected=WAITING)}
# There is nothing to adjust: the conversion itself failed. If Google may have it, somebody has to look.
ORIGINAL_FAILED: Mapping[str, Meaning] = {
    "ORIGINAL_NOT_UPLOADED": ended(expected=WAITING),
    "ORIGINAL_OUTCOME_UNKNOWN": ended(),
}


def _expected(*tables: Mapping[str, Meaning]) -> dict[str, ConversionStatus]:
    return {code: meaning.expected for table in tables for code, meaning in table.items() if meaning.expected}


CONVERSION_ERRORS = GOOGLE_ADS["conversion_upload_error"]
ADJUSTMENT_ERRORS = GOOGLE_ADS["conversion_adjustment_upload_error"]
# A row can also come back to them from QUEUED, when a retry is undone.
EXPECTED_FAILURES = _expected(SCRIPT, CONVERSION_ERRORS, VERDICTS, OWN)
EXPECTED_ADJUSTMENT_FAILURES = _expected(OVERTAKEN, ADJUSTMENT_ERRORS, ORIGINAL_FAILED)
UNEXPECTED_IN_VERDICTS = tuple(code for code in EXPECTED_FAILURES if code in VERDICTS and not VERDICTS[code].expected)
# Google does not find the conversion of an adjustment: it may not have processed it yet, so it is looked for twice.
DEFERRED_ONCE = tuple(
    code for table in (ADJUSTMENT_ERRORS, VERDICTS) for code, meaning in table.items() if meaning.is_deferred_once
)
# Google has the order id, or the click at that time. It may be this very conversion, sent by another way.
COUNTED_BEFORE = tuple(code for code, meaning in CONVERSION_ERRORS.items() if meaning.disposition == DUPLICATE)
# If several tables have a name, the table of the Google Ads API counts.
HINTS: Mapping[str, str] = {
    code: meaning.hint
    for table in (VERDICTS, REFUSALS, CONVERSION_ERRORS, OWN)
    for code, meaning in table.items()
    if meaning.hint
}


def is_always_expected(code: str) -> bool:
    """Return whether a conversion with this error leaves nothing to do, whoever sent it."""
    return code in EXPECTED_FAILURES and code not in UNEXPECTED_IN_VERDICTS
