"""A queue made of the lock alone, to prove the lock."""

from datetime import timedelta
from typing import Any, Self

from django.db import models
from django.db.models import F

from kilit.lock.column_guards import Counters
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.leases import LeasedModel, LeasedQuerySet, new_lease, no_lease
from kilit.lock.triggers import lifecycle_triggers
from tests.apps.parcels.states import PARCELS, State

LEASE = timedelta(minutes=1)  # a worker on a busy machine is not dead; tests of dead ones let it lapse by hand
FAILURES = Failures(PARCELS, states=[State.LOST], code="error_code", message="error_message", scope="depot")


class ParcelQuerySet(LeasedQuerySet["Parcel"]):
    """Questions about parcels, and their verbs in bulk."""

    def waiting(self) -> Self:
        return self.filter(status=State.WAITING)

    def claim(self, *, limit: int) -> list["Parcel"]:
        return self.take(
            "claim",
            limit=limit,
            order=("created_at", "id"),
            attempt_count=F("attempt_count") + 1,
            **new_lease(LEASE),
        )

    def recover(self) -> int:
        return self.lapsed().move("recover", **no_lease())


class Parcel(LeasedModel):
    """A parcel on its way through a depot."""

    lifecycle = PARCELS

    status = models.CharField(max_length=16, choices=State, default=State.WAITING)
    depot = models.CharField(max_length=20, default="")
    tracking_number = models.CharField(max_length=20, blank=True, default="", db_default="")
    attempt_count = models.IntegerField(default=0)
    work = models.FloatField(default=0)  # seconds that carrying it takes
    error_code = models.CharField(max_length=32, blank=True, default="", db_default="")
    error_message = models.TextField(blank=True, default="", db_default="")
    error_group = error_group_field()

    objects: Any = ParcelQuerySet.as_manager()

    class Meta(LeasedModel.Meta):
        abstract = False
        triggers = [
            *lifecycle_triggers(
                PARCELS,
                scope="depot",
                facts=["attempt_count"],
                fixed=["tracking_number"],
                counters=Counters(raised_by={"attempt_count": "claim"}),
            ),
            *FAILURES.triggers(),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status=State.CARRIED, claim_token__isnull=False, lease_until__isnull=False)
                | ~models.Q(status=State.CARRIED) & models.Q(claim_token=None, lease_until=None),
                name="parcel_carried_is_held",
            )
        ]
        indexes = [
            # Claims look for the oldest waiting.
            models.Index(fields=["created_at", "id"], name="parcel_due", condition=models.Q(status=State.WAITING)),
            # A list finds a group of failures.
            FAILURES.index("parcel_of_error_group"),
        ]

    def deliver(self) -> Self:
        return self.move_held("deliver", **no_lease())
