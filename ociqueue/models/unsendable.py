"""Which conversions are not sent: those that are too old for Google, and those whose visitors denied consent.

Each rule once, as an SQL expression; claims leave such rows out, and a sweep ends them.
"""

from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Now
from django.db.models.lookups import GreaterThan

from ociqueue.models.site import Site
from ociqueue.states import DeniedConsent

# Google takes a conversion for at most 90 days after its click, which was before the conversion.
LONGEST_AGE = timedelta(days=90)
# Conversions that come this long after they happened are few, and have an index of their own.
LATE_AFTER = timedelta(days=7)

IS_TOO_OLD = Q(conversion_time__lt=Now() - LONGEST_AGE)
CAME_LATE = Q(GreaterThan(F("created_at") - F("conversion_time"), Value(LATE_AFTER)))
# All others that are too old came before this.
CAME_LONG_AGO = Q(created_at__lt=Now() - (LONGEST_AGE - LATE_AFTER))
# Consent to personalized ads alone is sent as it was given: Google may still count the conversion.
IS_DENIED = Q(consent_ad_user_data="DENIED")
WITHHELD_MESSAGE = "Not sent: the visitor denied consent, and the site does not send such conversions."
EXPIRED_MESSAGE = (
    f"Not sent: the conversion is more than {LONGEST_AGE.days} days old, and Google takes none that old. Find out why"
    " it waited: a paused site, an open circuit, missing credentials, or a script that does not run."
)


def is_withheld() -> Q:
    """Return the condition of rows that their site does not send; only for denied ones is the site asked."""
    return IS_DENIED & Q(Exists(Site.objects.filter(pk=OuterRef("site"), denied_consent=DeniedConsent.WITHHOLD)))
