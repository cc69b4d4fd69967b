"""The queue's sweeps: each is one queryset verb with three doors, a command, an address and the clock."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product

from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import STUCK_AFTER, ConversionQuerySet
from ociqueue.states import ENDED

# The scheduled cap spares what may be in flight; by hand the default is no minimum age.
CAP_MIN_AGE = timedelta(minutes=15)


def recover_processing(*, min_age: timedelta = STUCK_AFTER) -> str:
    """Bring back rows whose script or worker never reported."""
    return f"Recovered {Conversion.objects.recover(min_age=min_age)}."


def attempt_cap(*, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> str:
    """End rows whose attempts are used up."""
    return f"Capped {Conversion.objects.cap(max_attempts=max_attempts, min_age=min_age)}."


def requeue_transient() -> str:
    """Try again what failed for a passing reason, where the site wants it."""
    return f"Requeued {Conversion.objects.requeue_transient()}."


def finished() -> Iterator[ConversionQuerySet]:
    """Return what ended, site by site and state by state, as an index has it; what was replaced goes after its copy."""
    for site, state in product(Site.objects.all(), ENDED):
        yield Conversion.objects.for_site(site).filter(status=state, replacement=None)
