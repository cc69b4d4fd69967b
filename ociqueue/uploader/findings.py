"""What a connection test stores about a site's credentials; the console shows it in the reader's language."""

from django.utils.translation import gettext_noop as _

from kilit.sentences import sentence

# What was tested
LOGIN = sentence("LOGIN", _("Login"))
CUSTOMER = sentence("CUSTOMER", _("Customer"))
API = "Data Manager API"
ACTION = sentence("CONVERSION_ACTION", _("Conversion action"))
OWNER = sentence("OWNER", _("Account that owns the conversions"))
OTHER_OWNER = sentence("OTHER_OWNER", _("Another account owns the conversions"))
TERMS = sentence("TERMS", _("Customer data terms"))
ENHANCED = sentence("ENHANCED", _("Enhanced conversions"))
FAILED = sentence("TEST_FAILED", _("The test failed"))

# What was found
ACCEPTS_KEY = sentence("ACCEPTS_KEY", _("Google accepts the key of %(email)s."))
ACCEPTS_TOKEN = sentence("ACCEPTS_TOKEN", _("Google accepts the refresh token."))
UPLOAD_TO = sentence("UPLOAD_TO", _("Upload to %(owner)s: Google rejects this account's clicks elsewhere."))
NOT_REQUIRED = sentence("NOT_REQUIRED", _("Not accepted; required only for enhanced conversions."))
ACCEPT_TERMS = sentence(
    "ACCEPT_TERMS",
    _(
        "Not accepted: accept them, in Google Ads under Goals > Conversions > Settings. Without that Google uses no "
        "hashed e-mail or phone, which this site accepts."
    ),
)
TURN_ON = sentence(
    "TURN_ON",
    _(
        "Turned off: turn them on, in Google Ads under Goals > Conversions > Settings. Without that Google uses no "
        "hashed e-mail or phone, which this site accepts."
    ),
)
TURNED_ON = sentence("TURNED_ON", _("Turned on."))
LOOK = sentence(
    "LOOK",
    _(
        "Google does not say whether they are turned on: look, in Google Ads under Goals > Conversions > Settings. "
        "Without that Google uses no hashed e-mail or phone, which this site accepts."
    ),
)
NOT_IN_ACCOUNT = sentence("NOT_IN_ACCOUNT", _("%(action)s is not in this account."))
NOT_FOR_CLICKS = sentence("NOT_FOR_CLICKS", _("%(action)s must be an enabled action for click imports."))
ACCEPTS_UPLOADS = sentence("ACCEPTS_UPLOADS", _("%(action)s accepts uploads."))
HAS_ACCESS = sentence("HAS_ACCESS", _("It is enabled, and this login has access to account %(account)s."))
ACCEPTS_CONVERSIONS = sentence("ACCEPTS_CONVERSIONS", _("%(action)s accepts conversions."))
NOT_CHECKED = sentence(
    "NOT_CHECKED",
    _(
        "Not checked: the Google Ads API does not answer this login. In Google Ads, open Goals > Conversions > "
        "Settings of this account to see which one owns them."
    ),
)
CHANGE_CUSTOMER = sentence(
    "CHANGE_CUSTOMER",
    _(
        "Change the customer id from %(account)s to %(owner)s: the Data Manager API takes conversions only for the "
        "account that owns them."
    ),
)
