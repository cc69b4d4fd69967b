"""The queue's sweeps: each is one queryset verb with three doors, a command, an address and the clock."""

from datetime import timedelta

from lifecycle.workers import sweeps
from ociqueue.models import Conversion
from ociqueue.models.queryset import STUCK_AFTER

# The scheduled cap spares what may be in flight; by hand the default is no minimum age.
CAP_MIN_AGE = timedelta(minutes=15)


def recover_processing(*, min_age: timedelta = STUCK_AFTER) -> str:
    """Bring back rows whose script or worker never reported (OCI-16)."""
    return f"Recovered {Conversion.objects.recover(min_age=min_age)}."


def attempt_cap(*, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> str:
    """End rows whose attempts are used up (OCI-17)."""
    return f"Capped {Conversion.objects.cap(max_attempts=max_attempts, min_age=min_age)}."


def requeue_transient() -> str:
    """Try again what failed for a passing reason, where the site wants it."""
    return f"Requeued {Conversion.objects.requeue_transient()}."


def register() -> None:
    """Declare when each runs by itself."""
    sweeps.register("oci_recover_processing", every=timedelta(minutes=5), run=recover_processing)
    sweeps.register("oci_attempt_cap", every=timedelta(minutes=15), run=lambda: attempt_cap(min_age=CAP_MIN_AGE))
    sweeps.register("oci_requeue_transient", every=timedelta(minutes=15), run=requeue_transient)
