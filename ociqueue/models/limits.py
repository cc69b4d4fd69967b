"""When a conversion is due, over its attempt cap, or stuck: each rule once, as an SQL expression."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Case, DurationField, ExpressionWrapper, F, IntegerField, Q, Value, When
from django.db.models.functions import Least, Now, Power
from django.db.models.lookups import GreaterThanOrEqual

from ociqueue.states import UPLOADED_HERE, SyncMethod

STUCK_AFTER = timedelta(minutes=15)
# A script may run for 30 minutes: rows it holds when its site moves to an API stay with it until it must have ended.
SCRIPT_DEAD_AFTER = timedelta(minutes=45)
FIRST_BACKOFF = timedelta(minutes=5)
LONGEST_BACKOFF = timedelta(hours=24)

ATTEMPTS = F("attempt_count") - F("attempts_forgiven")
TRIED_AGAIN = GreaterThanOrEqual(ATTEMPTS, Value(2))
RETRY_TIME_PASSED = Q(next_retry_at=None) | Q(next_retry_at__lte=Now())
# 5 minutes, 10, 20, … after the first attempt, the second, the third. More doublings would overflow an interval.
DOUBLINGS = Least(ATTEMPTS - Value(1), Value(10))
BACKOFF = Least(
    ExpressionWrapper(Value(FIRST_BACKOFF) * Power(Value(2.0), DOUBLINGS), output_field=DurationField()),
    Value(LONGEST_BACKOFF),
    output_field=DurationField(),
)


def max_attempts_of(path: SyncMethod) -> int:
    return settings.API_MAX_ATTEMPTS if path in UPLOADED_HERE else settings.SCRIPT_MAX_ATTEMPTS


def attempt_cap() -> Case:
    """Return a row's cap: that of its site's path, as the API reports more about a failure than a script can."""
    api = When(site__sync_method__in=UPLOADED_HERE, then=Value(max_attempts_of(SyncMethod.API)))
    return Case(api, default=Value(max_attempts_of(SyncMethod.SCRIPT)), output_field=IntegerField())


def claim_duration(min_age: timedelta = STUCK_AFTER) -> Case:
    """Return how long a claim lasts: longer for what a script still holds after its site moved to an API."""
    with_old_script = Q(open_batch=None, site__sync_method__in=UPLOADED_HERE)
    longer = When(with_old_script, then=Value(max(min_age, SCRIPT_DEAD_AFTER)))
    return Case(longer, default=Value(min_age), output_field=DurationField())


def is_over_cap(max_attempts: int | None = None) -> Q:
    if max_attempts is not None:
        return Q(GreaterThanOrEqual(ATTEMPTS, Value(max_attempts)))
    # The lower bound adds nothing, but an index can answer it.
    lowest = min(max_attempts_of(path) for path in SyncMethod)
    return Q(GreaterThanOrEqual(ATTEMPTS, Value(lowest))) & Q(GreaterThanOrEqual(ATTEMPTS, attempt_cap()))
