"""The queues' sweeps: each is one queryset verb, run by a command, a cron URL or the schedule."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.adjustment import AdjustmentQuerySet
from ociqueue.models.conversion import ConversionQuerySet
from ociqueue.models.limits import STUCK_AFTER
from ociqueue.models.sending import BY_ATTEMPTS, UploadableQuerySet
from ociqueue.states import ENDED, SyncMethod

# The scheduled cap spares claims that may still be acknowledged; the command's default is no minimum age.
CAP_MIN_AGE = timedelta(minutes=15)


def stuck_rows() -> list[UploadableQuerySet[Any]]:
    return [model.objects.stuck().order_by("claimed_at") for model in (Conversion, Adjustment)]


def recover_processing(*, min_age: timedelta = STUCK_AFTER) -> str:
    return f"Recovered {Conversion.objects.recover(min_age=min_age) + Adjustment.objects.recover(min_age=min_age)}."


def spent_rows() -> list[UploadableQuerySet[Any]]:
    return [model.objects.over_cap(min_age=CAP_MIN_AGE).order_by(*BY_ATTEMPTS) for model in (Conversion, Adjustment)]


def attempt_cap(*, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> str:
    capped = sum(model.objects.cap(max_attempts=max_attempts, min_age=min_age) for model in (Conversion, Adjustment))
    return f"Capped {capped}."


def transient_failures() -> list[UploadableQuerySet[Any]]:
    failures = [queue.requeueable(path) for queue in (Conversion.objects, Adjustment.objects) for path in SyncMethod]
    return [rows.order_by(*BY_ATTEMPTS) for rows in failures]


def requeue_transient() -> str:
    return f"Requeued {Conversion.objects.requeue_transient() + Adjustment.objects.requeue_transient()}."


def preview_transient() -> str:
    return f"Would requeue {sum(Conversion.objects.requeueable(path).count() for path in SyncMethod)}."


def preview_unsendable() -> str:
    rows = Conversion.objects
    withheld, expired, retracted = (kind.count() for kind in (rows.withheld(), rows.expired(), rows.retracted()))
    return f"Would withhold {withheld}, expire {expired}, retract {retracted}."


def end_unsendable() -> str:
    """End what waits and is not sent; adjustments that wait in vain end with an upload."""
    rows = Conversion.objects
    return f"Withheld {rows.sweep_withheld()}, expired {rows.expire()}, retracted {rows.sweep_retracted()}."


def finished() -> Iterator[ConversionQuerySet]:
    """Return finished rows by site and state, as an index has them.

    A replaced row is pruned after its replacement, an adjusted row after its adjustments.
    """
    for site, state in product(Site.objects.all(), ENDED):
        yield Conversion.objects.for_site(site).filter(status=state, replacement=None, adjustments=None)


def finished_adjustments() -> Iterator[AdjustmentQuerySet]:
    for site, state in product(Site.objects.all(), ENDED):
        yield Adjustment.objects.for_site(site).filter(status=state)
