"""The queue's sweeps: each is one queryset verb with three doors, a command, an address and the clock."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product

from django.utils.translation import gettext_lazy as _

from kilit.lock import pruning
from kilit.workers import doorbells, sweeps
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.models.queryset import STUCK_AFTER, ConversionQuerySet
from ociqueue.states import ENDED
from ociqueue.uploader.connection_test import check_asked
from ociqueue.uploader.due import due_sites
from ociqueue.uploader.upload_run import answer_bell

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


def register() -> None:
    """Declare when each runs by itself, and which bells the uploader answers.

    The web process registers the same and answers none, so it never loads Google's client.
    """
    pruning.register(Conversion, finished=finished)
    doorbells.register("oci_upload", is_due=lambda: due_sites().exists(), answer=answer_bell)
    doorbells.register(
        "oci_check_credentials", is_due=lambda: Credentials.objects.to_check().exists(), answer=check_asked
    )
    sweeps.register(
        "oci_upload",
        every=timedelta(minutes=10),
        run=answer_bell,
        about=_("Sends what is due to Google Ads, should its bell have been lost."),
    )
    sweeps.register(
        "oci_recover_processing",
        every=timedelta(minutes=5),
        run=recover_processing,
        about=_("Brings back conversions whose script or worker never reported."),
    )
    sweeps.register(
        "oci_attempt_cap",
        every=timedelta(minutes=15),
        run=lambda: attempt_cap(min_age=CAP_MIN_AGE),
        about=_("Fails conversions whose attempts are used up."),
    )
    sweeps.register(
        "oci_requeue_transient",
        every=timedelta(minutes=15),
        run=requeue_transient,
        about=_("Tries conversions again that failed for a passing reason, where the site wants it."),
    )
