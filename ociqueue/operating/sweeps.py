"""The queues' sweeps: each is one queryset verb, run by a command, a cron URL or the schedule."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.limits import STUCK_AFTER
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.states import ENDED

# The scheduled cap spares claims that may still be acknowledged; the command's default is no minimum age.
CAP_MIN_AGE = timedelta(minutes=15)
MODELS = (Conversion, Adjustment)


def recover_processing(*, min_age: timedelta = STUCK_AFTER) -> str:
    return f"Recovered {sum(model.objects.recover(min_age=min_age) for model in MODELS)}."


def attempt_cap(*, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> str:
    return f"Capped {sum(model.objects.cap(max_attempts=max_attempts, min_age=min_age) for model in MODELS)}."


def requeue_transient() -> str:
    return f"Requeued {sum(model.objects.requeue_transient() for model in MODELS)}."


def preview_unsendable() -> str:
    rows = Conversion.objects
    withheld, expired, retracted = (kind.count() for kind in (rows.withheld(), rows.expired(), rows.retracted()))
    return f"Would withhold {withheld}, expire {expired}, retract {retracted}."


def end_unsendable() -> str:
    """End what waits and is not sent; adjustments that wait in vain end with an upload."""
    rows = Conversion.objects
    return f"Withheld {rows.sweep_withheld()}, expired {rows.expire()}, retracted {rows.sweep_retracted()}."


def finished(rows: UploadableQuerySet[Any]) -> Iterator[UploadableQuerySet[Any]]:
    """Yield finished rows by site and state, as an index has them."""
    for site, state in product(Site.objects.all(), ENDED):
        yield rows.for_site(site).filter(status=state)
