"""When a row is due, over its attempt cap, stuck, or not sent at all: each rule once, as an SQL expression.

Conversions that are too old for Google, or whose visitors denied consent, are not sent: claims leave them out, and a
sweep ends them.
"""

from datetime import timedelta

from django.conf import settings
from django.db.models import Case, DurationField, Exists, F, IntegerField, OuterRef, Q, Value, When
from django.db.models.functions import Now
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual

from kilit.lock.attempts import ATTEMPTS, Schedule, used_up
from ociqueue.models.site import Site
from ociqueue.states import UPLOADED_HERE, DeniedConsent, SyncMethod

STUCK_AFTER = timedelta(minutes=15)
# A script may run for 30 minutes: rows it holds when its site moves to an API stay with it until it must have ended.
SCRIPT_DEAD_AFTER = timedelta(minutes=45)
FIRST_BACKOFF = timedelta(minutes=5)
LONGEST_BACKOFF = timedelta(hours=24)

TRIED_AGAIN = GreaterThanOrEqual(ATTEMPTS, Value(2))
RETRY_TIME_PASSED = Q(next_retry_at=None) | Q(next_retry_at__lte=Now())
# 5 minutes, 10, 20, … and at last a day. How often a row is tried is a setting of its path.
BACKOFF = Schedule(tuple(min(FIRST_BACKOFF * 2**number, LONGEST_BACKOFF) for number in range(10)), jitter=0.1)


def max_attempts_of(path: SyncMethod) -> int:
    return settings.API_MAX_ATTEMPTS if path in UPLOADED_HERE else settings.SCRIPT_MAX_ATTEMPTS


def attempt_cap() -> Case:
    """Return the cap of the path of a row's site: the API reports more about a failure than a script can."""
    api = When(site__sync_method__in=UPLOADED_HERE, then=Value(max_attempts_of(SyncMethod.API)))
    return Case(api, default=Value(max_attempts_of(SyncMethod.SCRIPT)), output_field=IntegerField())


def claim_duration(min_age: timedelta = STUCK_AFTER) -> Case:
    """Return how long a claim lasts: longer for what a script still holds after its site moved to an API."""
    with_old_script = Q(open_batch=None, site__sync_method__in=UPLOADED_HERE)
    longer = When(with_old_script, then=Value(max(min_age, SCRIPT_DEAD_AFTER)))
    return Case(longer, default=Value(min_age), output_field=DurationField())


def is_over_cap(max_attempts: int | None = None) -> Q:
    if max_attempts is not None:
        return used_up(max_attempts)
    # The lower bound adds nothing, but an index can answer it.
    return used_up(min(max_attempts_of(path) for path in SyncMethod)) & used_up(attempt_cap())


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


def is_withheld() -> Q:
    """Return the condition of rows that their site does not send; only for denied ones is the site asked."""
    return IS_DENIED & Q(Exists(Site.objects.filter(pk=OuterRef("site"), denied_consent=DeniedConsent.WITHHOLD)))
