"""What workers store about conversions and adjustments; the console shows it in the reader's language."""

from django.utils.translation import gettext_noop as _

from kilit.sentences import sentence

# Ended here
WITHHELD = sentence(_("Not sent: the visitor denied consent, and the site does not send such conversions."))
EXPIRED = sentence(
    _(
        "Not sent: the conversion is more than %(days)s days old, and Google takes none that old. Find out why it "
        "waited: a paused site, an open circuit, missing credentials, or a script that does not run."
    )
)
RETRACTED = sentence(_("It was retracted before it was sent."))
OVERTAKEN = sentence(_("A newer adjustment of the same conversion takes its place."))
NOT_UPLOADED = sentence(_("The conversion failed, so there is nothing to adjust."))
MAYBE_UPLOADED = sentence(
    _(
        "The conversion failed and its outcome is unknown: Google may have counted it. Look it up in Google Ads by its "
        "order id."
    )
)
SKIPPED = sentence(_("The script skipped this row on purpose."))

# Answers and verdicts
ALREADY_THERE = sentence(_("Google has it already: the answer to an earlier upload was lost."))
SEND_ALONE = sentence(_("Google's verdict does not say which rows of the request failed, so each is sent alone."))
NOT_PROVEN = sentence(_("Google's verdict on this row proves nothing, so it is sent again."))
NO_VERDICT = sentence(_("Google gave no verdict, so the row is sent again."))
NO_CREDENTIALS = sentence(_("The site has no credentials, so Google cannot be asked."))
NOT_MATCHED = sentence(_("No click on your ads fits the hashed e-mail or phone; nothing has to be fixed."))
VERDICT = sentence(_("Google's verdict: %(names)s."))
NOT_ADJUSTED = sentence(_("Google has counted the conversion and does not take the new value."))
OTHERS_REFUSED = sentence(_("Google refused the request for other rows."))
NO_RESULT = sentence(_("Google returned neither a result nor an error for this row."))
RESULTS = sentence(_("Google returned %(results)s results for %(rows)s rows."))
NO_REASON = sentence(_("Google gave no reason."))
UPLOAD_FAILED = sentence(_("The upload failed with %(error)s."))
NO_TIME = sentence(_("Earlier requests of the batch used up its time."))
NO_TIME_LEFT = sentence(_("Earlier requests of the upload used up its time."))
EARLIER_FAILED = sentence(_("An earlier request of the upload failed."))
NO_QUOTA = sentence(_("Google allows no more requests in this minute."))
