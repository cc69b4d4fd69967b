"""What workers store about conversions and adjustments; the console shows it in the reader's language."""

from django.utils.translation import gettext_noop as _

from kilit.sentences import sentence

# Ended here
WITHHELD = sentence("WITHHELD", _("Not sent: the visitor denied consent, and the site does not send such conversions."))
EXPIRED = sentence(
    "EXPIRED",
    _(
        "Not sent: the conversion is more than %(days)s days old, and Google takes none that old. Find out why it "
        "waited: a paused site, an open circuit, missing credentials, or a script that does not run."
    ),
)
RETRACTED = sentence("RETRACTED", _("It was retracted before it was sent."))
OVERTAKEN = sentence("OVERTAKEN", _("A newer adjustment of the same conversion takes its place."))
NOT_UPLOADED = sentence("NOT_UPLOADED", _("The conversion failed, so there is nothing to adjust."))
MAYBE_UPLOADED = sentence(
    "MAYBE_UPLOADED",
    _(
        "The conversion failed and its outcome is unknown: Google may have counted it. Look it up in Google Ads by its "
        "order id."
    ),
)
SKIPPED = sentence("SKIPPED", _("The script skipped this row on purpose."))

# Answers and verdicts
ALREADY_THERE = sentence("ALREADY_THERE", _("Google has it already: the answer to an earlier upload was lost."))
SEND_ALONE = sentence(
    "SEND_ALONE", _("Google's verdict does not say which rows of the request failed, so each is sent alone.")
)
NOT_PROVEN = sentence("NOT_PROVEN", _("Google's verdict on this row proves nothing, so it is sent again."))
NO_VERDICT = sentence("NO_VERDICT", _("Google gave no verdict, so the row is sent again."))
NO_CREDENTIALS = sentence("NO_CREDENTIALS", _("The site has no credentials, so Google cannot be asked."))
NOT_MATCHED = sentence(
    "NOT_MATCHED", _("No click on your ads fits the hashed e-mail or phone; nothing has to be fixed.")
)
VERDICT = sentence("VERDICT", _("Google's verdict: %(names)s."))
NOT_ADJUSTED = sentence("NOT_ADJUSTED", _("Google has counted the conversion and does not take the new value."))
LOOKED_TWICE = sentence("LOOKED_TWICE", _("A day later Google still does not find it."))
SENT_AS_ZERO = sentence(
    "SENT_AS_ZERO",
    _(
        "The Data Manager API has no retraction: the value was sent as 0, and Google still counts the conversion. With "
        "a developer token in the site's connection, retractions go through the Google Ads API."
    ),
)
OTHERS_REFUSED = sentence("OTHERS_REFUSED", _("Google refused the request for other rows."))
NO_RESULT = sentence("NO_RESULT", _("Google returned neither a result nor an error for this row."))
RESULTS = sentence("RESULTS", _("Google returned %(results)s results for %(rows)s rows."))
NO_REASON = sentence("NO_REASON", _("Google gave no reason."))
UPLOAD_FAILED = sentence("UPLOAD_FAILED", _("The upload failed with %(error)s."))
NO_TIME = sentence("NO_TIME", _("Earlier requests of the batch used up its time."))
NO_TIME_LEFT = sentence("NO_TIME_LEFT", _("Earlier requests of the upload used up its time."))
EARLIER_FAILED = sentence("EARLIER_FAILED", _("An earlier request of the upload failed."))
NO_QUOTA = sentence("NO_QUOTA", _("Google allows no more requests in this minute."))
NO_ROW = sentence("NO_ROW", _("An error that refers to no row:"))
NO_DESCRIPTION = sentence("NO_DESCRIPTION", _("An error without a description."))
NO_HTTP_REASON = sentence("NO_HTTP_REASON", _("Google answered with HTTP status %(status)s and no reason."))
TWIN_SENT_FIRST = sentence("TWIN_SENT_FIRST", _("A duplicate of this row is sent first."))
ERASED = sentence(
    "ORIGINAL_WAS_ERASED", _("What identifies the conversion was erased, so it cannot be adjusted. Nothing was sent.")
)
SAME_REQUEST_ID = sentence("SAME_REQUEST_ID", _("Google answered two requests with the same request id."))
NO_REQUEST_ID = sentence(
    "NO_REQUEST_ID", _("Google took the request, but its answer has no request id to ask for the verdict.")
)
NO_REPLY = sentence("NO_REPLY", _("Google's Data Manager API did not answer (%(error)s)."))
SLOW_REPLY = sentence("SLOW_REPLY", _("Google's Data Manager API did not finish its answer in time."))

# Statuses that cannot be read
LISTED_TWICE = sentence("LISTED_TWICE", _("A reason is listed twice."))
NO_DESTINATION = sentence("NO_DESTINATION", _("Google's status names no destination."))
DESTINATIONS = sentence("DESTINATIONS", _("Google's status has not exactly one destination."))
NO_PLACES = sentence("NO_PLACES", _("%(rows)s rows have %(name)s, and their places do not say which."))
ROWS_PROCESSED = sentence("ROWS_PROCESSED", _("Google processed %(processed)s rows of %(rows)s."))
OTHER_COUNT = sentence("OTHER_COUNT", _("%(status)s with errors for %(errors)s of %(rows)s rows."))
WARNED = sentence("WARNED", _("%(rows)s rows have the warning %(name)s; Google does not say which."))
UNREADABLE = sentence("UNREADABLE", _("Google's %(key)s cannot be read."))
UNREADABLE_STATUS = sentence("UNREADABLE_STATUS", _("Google's status has an error that cannot be read."))

# Logins
LOGIN_UNREACHABLE = sentence("LOGIN_UNREACHABLE", _("Google's login cannot be reached:"))
LOGIN_REJECTED = sentence(
    "LOGIN_REJECTED",
    _(
        "Google rejects the credentials: create a new refresh token, or a new key of the service account, and store "
        "it. Google's answer:"
    ),
)
NOT_COMPARED = sentence("NOT_COMPARED", _("Comparing failed: %(error)s."))

# Files
IMPORTED = sentence("IMPORTED", _("Imported from a file."))
ADJUSTED_IN_FILE = sentence("ADJUSTED_IN_FILE", _("Adjusted in a file."))
CORRECTED_IN_FILE = sentence("CORRECTED_IN_FILE", _("Corrected in a file."))
IMPORT_UNACCOUNTED = sentence(
    "IMPORT_UNACCOUNTED", _("Import %(import)s is done, but not each of its %(lines)s lines is accounted for.")
)
IMPORT_ROWS = sentence(
    "IMPORT_ROWS", _("Import %(import)s stored %(created)s rows by its own count; there are %(rows)s.")
)
CORRECTED_COPY = sentence("CORRECTED_COPY", _("A corrected copy of a row that Google rejected."))
