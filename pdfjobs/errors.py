"""What is known of the error codes of PDF jobs: one entry for each."""

from functools import partial

from django.utils.translation import gettext_noop as _

from kilit.batches.error_entries import ErrorEntry, WhoseTurn
from pdfjobs.states import ErrorCode

SPENT = _("All automatic retries failed.")
CHECK_WORKER = _("Check the worker's memory and its log, then retry.")
repeatable = partial(ErrorEntry, turn=WhoseTurn.ADMIN, row=("retry",), group=("retry",))
refused = partial(ErrorEntry, turn=WhoseTurn.CUSTOMER, is_final=True)
WORDS = {code: str(code.label) for code in ErrorCode}

ERRORS: dict[str, ErrorEntry] = {
    **{
        code: repeatable(WORDS[code], SPENT, CHECK_WORKER)
        for code in (ErrorCode.BROWSER_LAUNCH_FAILED, ErrorCode.BROWSER_CRASHED, ErrorCode.WORKER_LOST)
    },
    ErrorCode.NAVIGATION_TIMEOUT: repeatable(
        WORDS[ErrorCode.NAVIGATION_TIMEOUT],
        SPENT,
        _("Retry, or have the document requested again: shorter, or with more time."),
        turn=WhoseTurn.OPERATOR,
    ),
    ErrorCode.STORAGE_UNAVAILABLE: repeatable(
        WORDS[ErrorCode.STORAGE_UNAVAILABLE], SPENT, _("Fix the storage of PDF files, then retry.")
    ),
    ErrorCode.VERSION_MISMATCH: repeatable(
        WORDS[ErrorCode.VERSION_MISMATCH],
        SPENT,
        _("Restart the workers: they run an older version than the web server. Then retry."),
    ),
    # Another attempt fails in the same way until the template is another one.
    ErrorCode.TEMPLATE_ERROR: ErrorEntry(
        WORDS[ErrorCode.TEMPLATE_ERROR],
        advice=_("Fix the template, then retry. Or have the document requested again with other variables."),
        turn=WhoseTurn.ADMIN,
    ),
    ErrorCode.PAGES_MISSING: refused(
        WORDS[ErrorCode.PAGES_MISSING], advice=_("The caller has to request it again with other pages.")
    ),
    ErrorCode.DOCUMENT_TOO_LARGE: refused(
        WORDS[ErrorCode.DOCUMENT_TOO_LARGE], advice=_("The caller has to ask for less.")
    ),
    ErrorCode.UNSUPPORTED_PLATFORM: repeatable(
        WORDS[ErrorCode.UNSUPPORTED_PLATFORM], advice=_("Run manage.py browser on the worker's machine, then retry.")
    ),
    ErrorCode.UNKNOWN: repeatable(
        WORDS[ErrorCode.UNKNOWN],
        advice=_("The details may show the cause. Fix it, then retry."),
        turn=WhoseTurn.OPERATOR,
    ),
}
