"""All error codes: what the script reports, what Kilit ends itself, and what follows from these and from Google's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from kilit.batches.error_entries import UNKNOWN, ErrorEntry, WhoseTurn
from ociqueue.codes import entries
from ociqueue.codes.google import (
    DUPLICATE,
    FATAL,
    GOOGLE_ADS,
    PERMANENT,
    PROCESSING,
    REFUSALS,
    UPLOADED,
    VERDICTS,
    WAITING,
    Meaning,
)
from ociqueue.states import MANUAL_FAIL, ConversionStatus, SyncMethod

# Our name for CLICK_NOT_FOUND in a verdict of the Data Manager API on a row that has no click id.
USER_DATA_NOT_MATCHED: Final = "USER_DATA_NOT_MATCHED"
# The visitor denied consent, and the site does not send such rows.
WITHHELD: Final = "WITHHELD_CONSENT_DENIED"
# It waited until Google would not take it any more. No expected failure: somebody has to look why it waited.
EXPIRED: Final = "EXPIRED_BEFORE_UPLOAD"
ORDER_ID_IN_USE: Final = "ORDER_ID_ALREADY_IN_USE"

ended = partial(Meaning, FATAL, PERMANENT)
# The script left the row out on purpose.
SCRIPT: Mapping[str, Meaning] = {"SKIPPED_BY_SCRIPT": ended(entries.SKIPPED, expected=PROCESSING)}
OWN: Mapping[str, Meaning] = {
    EXPIRED: ended(entries.EXPIRED),
    WITHHELD: ended(entries.WITHHELD, expected=WAITING),
    # It was retracted while it waited, so it was never sent.
    "RETRACTED_BEFORE_UPLOAD": ended(entries.RETRACTED, expected=WAITING),
    # No click fits the hashed e-mail or phone of a row without a click id, as for most people who come without an ad.
    USER_DATA_NOT_MATCHED: ended(entries.NOT_MATCHED, expected=UPLOADED),
}
# A newer adjustment of the same conversion takes its place.
OVERTAKEN: Mapping[str, Meaning] = {"OVERTAKEN": ended(entries.OVERTAKEN, expected=WAITING)}
# There is nothing to adjust: the conversion itself failed. If Google may have it, somebody has to look.
ORIGINAL_FAILED: Mapping[str, Meaning] = {
    "ORIGINAL_NOT_UPLOADED": ended(entries.ORIGINAL_FAILED, expected=WAITING),
    "ORIGINAL_OUTCOME_UNKNOWN": ended(entries.ORIGINAL_UNKNOWN),
}
LONGEST_CODE = 64
# Codes of the script, of the uploader and of operators.
REPORTED: Mapping[str, ErrorEntry] = {
    "MISSING_CLICK_ID": entries.NO_CLICK_ID,
    "INVALID_CLICK_ID": entries.MALFORMED_CLICK_ID,
    "INVALID_TIME_FORMAT": entries.UNREADABLE_TIME,
    "INVALID_VALUE": entries.WRONG_AMOUNT,
    "INVALID_CURRENCY": entries.WRONG_CURRENCY,
    "INVALID_CONSENT": entries.WRONG_CONSENT,
    **dict.fromkeys(("MISSING_CONVERSION_NAME", "MISSING_ORDER_ID"), entries.MISSING_FIELD),
    "CONVERSION_ACTION_NOT_FOUND": entries.NO_ACTION,
    "UPLOAD_EXCEPTION": entries.THREW,
    "MAX_ATTEMPTS": entries.SPENT,
    MANUAL_FAIL: entries.BY_HAND,
    **dict.fromkeys(("NO_ANSWER", "UNPROVEN_ANSWER", "VERDICT_LOST", "VERDICT_UNPROVEN"), entries.LOST),
    "LOGIN_UNREACHABLE": entries.UNREACHABLE,
    **dict.fromkeys(("INVALID_GRANT", "UNAUTHORIZED_CLIENT", "INVALID_CLIENT"), entries.REJECTED_LOGIN),
    **dict.fromkeys(("INVALID_SCOPE", "DELETED_CLIENT", "LOGIN_REFUSED"), entries.REJECTED_LOGIN),
    "CREDENTIALS_UNREADABLE": entries.UNREADABLE_LOGIN,
    "REQUEST_REFUSED": entries.REJECTED_REQUEST,
    "QUOTA_USED_UP": entries.BUSY,
    "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE": entries.CLOSED_API,
    "ORIGINAL_ERASED": entries.ORIGINAL_ERASED,
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


def _entries(*tables: Mapping[str, Meaning]) -> Mapping[str, ErrorEntry]:
    """Return the entries by code, cut as it is stored; of a name that several tables have, the last counts."""
    return {**REPORTED, **{code[:LONGEST_CODE]: meaning.entry for table in tables for code, meaning in table.items()}}


REQUEST_ERRORS = [meanings for family, meanings in GOOGLE_ADS.items() if not family.startswith("conversion_")]
CONVERSION_ENTRIES = _entries(*REQUEST_ERRORS, VERDICTS, REFUSALS, CONVERSION_ERRORS, SCRIPT, OWN)
ADJUSTMENT_ENTRIES = _entries(*REQUEST_ERRORS, VERDICTS, REFUSALS, ADJUSTMENT_ERRORS, OVERTAKEN, ORIGINAL_FAILED)


@dataclass(frozen=True)
class ErrorFacts:
    """What says, besides the code of a row's error, what helps."""

    code: str
    category: str
    sender: str
    goes_on: bool  # it waits, or is retried by a scheduled task
    not_before: datetime | None = None


def entry_for(codes: Mapping[str, ErrorEntry], facts: ErrorFacts) -> ErrorEntry:
    """Return the entry of a row's error: one cause, one advice that its sender can follow, and whose turn it is now."""
    entry = known_entry(codes, facts)
    if facts.sender == SyncMethod.SCRIPT and "connection" in entry.row:
        advice = entries.AT_SCRIPT.get(entry, "")
        at_script = replace(entry, advice=advice, row=("retry",), group=("retry",))
        entry = at_script if advice else entries.REJECTED_SCRIPT
    if entry.turn == WhoseTurn.ADMIN:
        return replace(entry, then=entries.THEN_SENT if facts.goes_on else entries.THEN_RETRY)
    if facts.goes_on:
        turn = WhoseTurn.GOOGLE if entry.turn == WhoseTurn.GOOGLE else WhoseTurn.KILIT
        entry = replace(entry, advice=entries.WAIT, turn=turn)
    elif entry.advice == entries.WAIT:
        advice = entries.RETRY_LATER if entry.turn == WhoseTurn.GOOGLE else entries.RETRY
        return replace(entry, advice=advice, turn=WhoseTurn.OPERATOR).until(facts.not_before)
    return entry.until(facts.not_before) if entry.turn == WhoseTurn.GOOGLE else entry


def known_entry(codes: Mapping[str, ErrorEntry], facts: ErrorFacts) -> ErrorEntry:
    """Return the entry by sender where names mean two things, else by code, else by category."""
    if facts.sender == SyncMethod.DATA_MANAGER and facts.code in UNEXPECTED_IN_VERDICTS:
        return VERDICTS[facts.code].entry
    return codes.get(facts.code) or entries.BY_CATEGORY.get(facts.category, UNKNOWN)
