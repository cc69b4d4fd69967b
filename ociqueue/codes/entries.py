"""What is known of the errors of conversions and adjustments: in words, why, what helps, and whose turn it is.

An advice is what helps besides another attempt. Whether that comes by itself depends on the row: ociqueue.codes.table.
The steps besides the operations: "correct" (other data), "connection" (the site's Google login), "script" (the site's
script), "switch" (another sender).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.translation import gettext_noop as _

from kilit.batches.error_entries import ErrorEntry, WhoseTurn
from ociqueue.states import Category

CORRECT: Final = _("Correct it and send it again.")
LOGIN: Final = _("Store a new refresh token or a new key of the service account in the site's Google login.")
TERMS: Final = _("A user of the Google Ads account has to accept or enable it there, under Goals > Settings.")
CHECK_ACTION: Final = _("Look at Goals > Conversions > Summary in Google Ads, then correct the site's Google login.")
CHECK_LOGIN: Final = _("Correct it in the site's Google login.")
WAIT: Final = _("Nothing has to be done: it is sent again.")
RETRY: Final = _("Retry.")
RETRY_LATER: Final = _("Retry later.")
THEN_RETRY: Final = _("Then retry.")
THEN_SENT: Final = _("Then it is sent by itself.")


def kind(advice: str = "", **columns: Any) -> Callable[..., ErrorEntry]:
    def entry(words: str, cause: str, advice: str = advice, **own: Any) -> ErrorEntry:
        return ErrorEntry(words, cause, advice, **{**columns, **own})

    return entry


correctable = kind(CORRECT, row=("correct",), group=("correct",))
repeatable = kind(row=("retry",), group=("retry",))
# Google says when to try again.
early = kind(WAIT, turn=WhoseTurn.GOOGLE, row=("retry",), group=("retry",))
account = kind(CHECK_LOGIN, turn=WhoseTurn.ADMIN, row=("connection",), group=("connection",))
# Somebody has to change something in Google Ads; then it can be retried.
elsewhere = kind(turn=WhoseTurn.ADMIN)
hopeless = kind(turn=WhoseTurn.CUSTOMER, is_final=True)
expected = kind(turn=WhoseTurn.NOBODY)

# By category: of codes that no table has, which scripts and operators may name as they like.
WRONG_DATA = correctable(_("Wrong data"), _("Google does not accept the data; another attempt would fail too."))
TEMPORARY = repeatable(_("Temporary fault"), _("Another attempt may succeed."), RETRY)
REJECTED_ACCOUNT = account(
    _("Google rejects the account"),
    _("Google rejected the account or its login."),
    _("Correct the site's Google login."),
)
BUSY = early(_("Too many requests"), _("Google asked for fewer requests."))
ENDED = repeatable(_("Ended"), _("It was marked as failed for good."), _("Retry if it should be sent after all."))
BY_CATEGORY: Mapping[str, ErrorEntry] = {
    Category.VALIDATION: WRONG_DATA,
    Category.TRANSIENT: TEMPORARY,
    Category.AUTH: REJECTED_ACCOUNT,
    Category.RATE_LIMIT: BUSY,
    Category.PERMANENT: ENDED,
}
# In place of those that concern the site's Google login, which a script does not use.
REJECTED_SCRIPT = elsewhere(
    _("Google rejects the script"),
    _("The script reports that it may not upload to this account."),
    _("In Google Ads, open Tools > Bulk actions > Scripts, authorise the script again and run it."),
    row=("script",),
    group=("script",),
)

# The click.
MALFORMED_CLICK_ID = correctable(
    _("Malformed click id"),
    _("The click id is malformed."),
    _("Correct it, and check how the source stores click ids: truncated, lower-cased, decoded?"),
)
UNREADABLE_CLICK_ID = correctable(
    _("Unreadable click id"), _("Google cannot read the click id: it was cut or changed at the source.")
)
NO_CLICK_ID = correctable(_("No click id"), _("Google found no click id in this row."))
TWO_CLICK_IDS = correctable(_("Several click ids"), _("The row has more than one click id; Google takes one."))
UNKNOWN_CLICK = correctable(
    _("Unknown click"),
    _("Google does not know this click: it is another account's, less than a day old, or was changed at the source."),
    _("If the click is less than a day old, retry tomorrow. Else correct it, and check where it comes from."),
)
IGNORED_CLICK = expected(_("Unknown click"), _("Google does not know this click; this can be ignored."))
OTHER_ACCOUNT = account(
    _("Click of another account"),
    _("The click is from ads of another account."),
    _("The customer id in the site's Google login must be the account that owns the conversion action."),
)
# The time.
EARLIER_THAN_CLICK = correctable(
    _("Earlier than its click"),
    _("The conversion is older than its click, usually because of a wrong time zone at the source."),
)
WRONG_TIME = correctable(
    _("Wrong time"), _("The conversion is too old or in the future: check the clock of the source.")
)
UNREADABLE_TIME = correctable(_("Unreadable time"), _("The time must be written as yyyy-mm-dd HH:mm:ss±HH:mm."))
EXPIRED_CLICK = hopeless(
    _("Click too old"),
    _("The click is older than the action's click-through window. Google does not count it any more."),
    _("Send conversions sooner, or set a longer window in Google Ads."),
)
TOO_OLD = hopeless(
    _("Too old"),
    _("The click or the conversion is too old; Google does not count it any more."),
    _("Send conversions sooner."),
)
EXPIRED = hopeless(
    _("Too old"),
    _("It waited until it was too old for Google. It cannot be sent any more."),
    _("Find out why it waited."),
)
RECENT_CLICK = early(_("Click too recent"), _("The click is too recent; Google asks to wait six hours."))
RECENT_CALL = early(_("Call too recent"), _("The call is too recent; Google asks to wait six hours."))
RECENT_ACTION = early(_("New conversion action"), _("The action is too new; Google asks to wait six hours."))
# What Google has counted.
COUNTED_ORDER = correctable(
    _("Counted before"),
    _("Google has already counted this order id."),
    _("Nothing has to be done if that was this conversion. Else correct it, and it is sent under another order id."),
)
COUNTED_CLICK = correctable(
    _("Counted before"),
    _("Google already has a conversion of this click and time."),
    _("Nothing has to be done if that was this conversion. Else correct its time and send it again."),
)
# Single values.
MISSING_FIELD = correctable(_("Missing field"), _("Google requires a field that this row does not have."))
UNREADABLE_FIELD = correctable(_("Unreadable value"), _("A field of this row has a form that Google cannot read."))
UNKNOWN_VALUE = correctable(_("Unknown value"), _("Google does not know a value of this row."))
WRONG_LENGTH = correctable(_("Wrong length"), _("A value of this row is too long or too short for Google."))
WRONG_CURRENCY = correctable(_("Unknown currency"), _("Google does not know this currency."))
WRONG_AMOUNT = correctable(_("Wrong value"), _("The value must be a number, 0 or more."))
WRONG_CONSENT = correctable(_("Wrong consent"), _("Consent must be GRANTED or DENIED."))
WRONG_HASH = correctable(_("Wrong hash"), _("A hashed e-mail or phone has a form that Google cannot read."))
PERSONAL_DATA = correctable(
    _("Personal data"), _("An order id or a custom variable contains personal data, which Google does not accept.")
)
WRONG_IDENTIFIER = correctable(_("Wrong e-mail or phone"), _("Google does not accept the e-mail or phone of this row."))
CUSTOM_VARIABLE = elsewhere(
    _("Custom variable"),
    _("A custom variable is wrong, or not enabled in the Google Ads account."),
    _("In Google Ads, open Goals > Custom variables and enable it."),
)
ATTRIBUTION = elsewhere(
    _("External attribution"),
    _("The conversion action uses external attribution, which is not sent from here."),
    _("Use another conversion action in Google Ads."),
)
ONE_PER_CLICK = elsewhere(
    _("One conversion per click"),
    _("The conversion action counts one conversion per click, which Google does not allow with wbraid or gbraid."),
    _("Let it count every conversion in Google Ads."),
)
NO_TRACKING = hopeless(
    _("No conversion tracking"), _("Conversion tracking was not enabled in the account when the ad was seen.")
)
# Consent.
DENIED = expected(_("Consent denied"), _("The visitor denied consent, or the account's default does."))
NO_CONSENT = expected(
    _("No consent"),
    _("The account has not given consent to Google's core platform services, so Google drops such conversions."),
)
UNKNOWN_CONSENT = elsewhere(
    _("Consent unknown"),
    _("Neither the conversion nor the account says whether the visitor consented."),
    _("Send consent from the source, or set a default in the Google Ads account."),
)
WITHHELD = expected(_("Consent denied"), _("The visitor denied consent, and the site does not send such conversions."))
# The conversion action.
NO_ACTION = account(
    _("Unknown conversion action"),
    _("The account has no such conversion action, or it was removed."),
    _("Create an import of clicks with this very name in Google Ads, or correct the site's Google login."),
)
WRONG_ACTION = account(
    _("Unsuitable conversion action"), _("The conversion action does not accept uploads of clicks."), CHECK_ACTION
)
WRONG_SOURCE = account(
    _("Unsuitable conversion action"),
    _("The conversion action does not accept the event source of its conversions, which is WEB if none was sent."),
    CHECK_ACTION,
)
# The account and its login.
REJECTED_LOGIN = account(_("Google rejects the login"), _("Google rejects the login."), LOGIN)
UNREADABLE_LOGIN = account(_("Unreadable login"), _("The stored login cannot be decrypted."), LOGIN)
NO_ACCESS = account(
    _("No access to the account"),
    _("This login has no access to the account."),
    _(
        "In Google Ads, open Admin > Access and security and add the user or the service account's e-mail; through a"
        " manager account, enter the manager as login customer id in Kilit."
    ),
)
NO_ACCESS_TO_CLICK = account(
    _("No access to the account"),
    _("The click belongs to an account that this login cannot access."),
    _("Give the login access to that account in Google Ads."),
)
NO_API = account(_("No access to the API"), _("Google does not allow this project or token to use the API."), LOGIN)
WRONG_MANAGER = account(
    _("Wrong login customer id"), _("The login customer id is missing or does not manage this account.")
)
NO_PROJECT = account(
    _("No Google Cloud project"), _("The OAuth client's Google Cloud project does not exist any more."), LOGIN
)
NO_TOKEN = account(_("No developer token"), _("This account still needs a developer token."))
WRONG_ACCOUNT = account(_("Wrong customer id"), _("Google finds no Google Ads account of this number."))
WRONG_SCOPE = account(
    _("Login without Data Manager"),
    _("The refresh token is not for the Data Manager API."),
    _("Consent again with both scopes, adwords and datamanager, and store the new refresh token."),
)
API_OFF = account(
    _("API not enabled"),
    _("The Data Manager API is not enabled in the Google Cloud project of the OAuth client or service account."),
    _("Enable it there (APIs & Services > Library), then run the connection test."),
)
NOT_ACCEPTED = account(
    _("Terms not accepted"), _("The Google Ads account has not accepted or enabled this feature."), TERMS
)
NOT_OFFERED = account(
    _("Not offered to the account"),
    _("Google has not enabled this feature for the account, or its policy forbids it."),
    _("Ask your Google representative."),
)
INACTIVE = account(
    _("Account not active"),
    _("The Google Ads account is not set up yet, or was deactivated."),
    _("Activate it in Google Ads, under Admin > Account settings."),
)
POLITICAL = account(
    _("Declaration missing"),
    _("Google wants to know whether campaigns contain EU political advertising."),
    _("Declare it in Google Ads, under Campaigns > Settings."),
)
CLOSED_API = account(
    _("Google Ads API closed"),
    _(
        "In June 2026 Google closed offline conversion uploads over the Google Ads API to new integrations. Its list of"
        " those who may go on has developer tokens, not accounts, and this one is not on it."
    ),
    _("Switch the site to the Data Manager API, or use the script."),
    row=("switch", "connection"),
    group=("switch", "connection"),
)
# At a site with a script, which does not use the site's Google login; all others of an account are REJECTED_SCRIPT.
AT_SCRIPT: Mapping[ErrorEntry, str] = {
    **{entry: entry.advice for entry in (NOT_ACCEPTED, NOT_OFFERED, POLITICAL, INACTIVE)},
    NO_ACTION: _("Create an import of clicks with this very name in Google Ads."),
    OTHER_ACCOUNT: _("Run the script in the account that owns the conversion action."),
    **dict.fromkeys((WRONG_ACTION, WRONG_SOURCE), _("Look at Goals > Conversions > Summary in Google Ads.")),
}
# The request.
REJECTED_REQUEST = account(_("Request rejected"), _("Google rejects the whole request."), _("Run the connection test."))
TOO_LARGE = repeatable(_("Request too large"), _("Google found the request too large."), WAIT, turn=WhoseTurn.KILIT)
OLD_API = elsewhere(
    _("Kilit is too old"),
    _("Google has shut down this version of its API."),
    _("Update Kilit."),
)
OUR_BUG = elsewhere(
    _("Fault of Kilit"),
    _("Kilit built a request that Google does not accept."),
    _("Report it to Kilit, and install the update."),
)
AMBIGUOUS = repeatable(_("Result unknown"), _("Google could not process it, and may have it all the same."), RETRY)
LOST = repeatable(_("Result unknown"), _("Google gave no result, and may have it all the same."), RETRY)
UNREACHABLE = repeatable(_("Google not reachable"), _("Google's login cannot be reached."), RETRY)
# Kilit and the script.
THREW = repeatable(
    _("The script's upload failed"),
    _("Google Ads stopped the upload of the script."),
    _("Retry when Google works again."),
)
SPENT = repeatable(
    _("Attempts used up"), _("Every attempt failed or was not reported."), _("Look at its timeline, then retry.")
)
SKIPPED = expected(_("Skipped by the script"), _("The script left it out on purpose."))
BY_HAND = expected(_("Ended by an operator"), _("An operator marked it failed."))
RETRACTED = expected(_("Retracted"), _("It was retracted before it was sent."))
NOT_MATCHED = expected(_("No click fits"), _("Google found no click for the e-mail or phone of this row."))

# Adjustments.
ALREADY_ADJUSTED = hopeless(
    _("Already adjusted"),
    _("Google already has this adjustment."),
    _("Compare the value in Google Ads."),
    turn=WhoseTurn.OPERATOR,
)
NEWER_VALUE = expected(_("Newer value"), _("Google already has a newer value."))
OVERTAKEN = expected(_("Overtaken"), _("A newer adjustment of the same conversion takes its place."))
NOT_KNOWN_YET = early(
    _("Conversion not found"),
    _("Google does not find the conversion of this adjustment; it may take a day to find it."),
)
RECENT_CONVERSION = early(_("Conversion too recent"), _("The conversion is too recent; Google asks to wait a day."))
TOO_OLD_TO_ADJUST = hopeless(_("Too old"), _("The conversion is too old: Google adjusts it for 54 days."))
EARLIER_THAN_CONVERSION = correctable(
    _("Earlier than its conversion"), _("The adjustment is older than the conversion.")
)
FIXED_VALUE = hopeless(
    _("Fixed value"),
    _("The conversion action always uses its default value, so Google takes no other."),
    _("Let the action use different values in Google Ads."),
)
TOO_MANY_ADJUSTMENTS = hopeless(_("Too many adjustments"), _("Google takes no more adjustments of this conversion."))
NO_ADJUSTMENTS = account(
    _("Unsuitable conversion action"), _("The conversion action does not accept adjustments."), CHECK_ACTION
)
ORIGINAL_FAILED = expected(_("Conversion failed"), _("Its conversion failed, so there is nothing to adjust."))
ORIGINAL_UNKNOWN = hopeless(
    _("Conversion failed"),
    _("Its conversion failed and its outcome is unknown."),
    _("Look it up in Google Ads by its order id."),
    turn=WhoseTurn.OPERATOR,
)
ORIGINAL_ERASED = hopeless(
    _("Erased"), _("What identifies the conversion was erased, so it cannot be adjusted. Nothing was sent.")
)
