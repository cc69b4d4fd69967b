"""A batch job: long work over many rows, which workers prepare, a user confirms, and workers run in batches."""

from datetime import timedelta
from typing import Self, TypeVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from kilit.batches.states import BulkState
from kilit.lock.leases import ClaimLost, LongJobModel, LongJobQuerySet, no_lease
from kilit.lock.table import Lifecycle
from kilit.lock.text import storable

# A dead worker's job waits this long. A slow batch is safe all the same: its transaction keeps the row locked.
LEASE = timedelta(seconds=30)
CONFIRM_WITHIN = timedelta(days=1)

Job = TypeVar("Job", bound="BatchJob")


def working_states(table: Lifecycle) -> tuple[str, ...]:
    """Return the states in which workers have something to do."""
    return table.moves["fail"].sources


def open_states(table: Lifecycle) -> tuple[str, ...]:
    """Return the states of jobs that have not ended."""
    return table.moves["cancel"].sources


def is_working(table: Lifecycle) -> Q:
    return Q(status__in=working_states(table))


def rests_freely(table: Lifecycle) -> Q:
    """Return the constraint that nothing holds a job that waits or has ended."""
    return is_working(table) | Q(claim_token=None, lease_until=None)


class BatchJobQuerySet(LongJobQuerySet[Job]):
    def due(self) -> Self:
        """Return what a worker may claim: nothing holds it, or the lease of a worker that died."""
        return self.free().filter(is_working(self.model.lifecycle))

    def claim(self) -> Job | None:
        # The one that waits longest, so that jobs take turns.
        return self.due().lease_next(order=("updated_at", "id"), updated_at=Now())

    def claim_now(self) -> Job:
        """Claim what this transaction created or started, so that no worker takes it."""
        if job := self.claim():
            return job
        raise ClaimLost("another worker has it")

    def cancel(self) -> int:
        """Stop before the next batch; finished batches stay as they are."""
        return self.move("cancel", finished_at=Now(), **no_lease())

    def open(self) -> Self:
        return self.filter(status__in=open_states(self.model.lifecycle))

    def never_confirmed(self) -> Self:
        """Return jobs that were not confirmed in time: what they counted has changed since."""
        return self.filter(status=BulkState.READY, updated_at__lt=Now() - CONFIRM_WITHIN)


class BatchJob(LongJobModel):
    lease_length = LEASE

    error = models.CharField(max_length=1000, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta(LongJobModel.Meta):
        abstract = True

    @property
    def is_working(self) -> bool:
        return self.status in working_states(self.lifecycle)

    @property
    def is_open(self) -> bool:
        return self.status in open_states(self.lifecycle)

    def prepare(self, **changes: object) -> Self:
        return self.move_held("prepare", lapse_count=0, **changes, **no_lease())

    def finish(self, **changes: object) -> Self:
        return self.move_held("finish", finished_at=Now(), **changes, **no_lease())

    def stop(self, verb: str, error: str) -> Self:
        return self.move_held(verb, finished_at=Now(), error=storable(error, 1000), **no_lease())
