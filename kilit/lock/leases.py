"""Leases: a worker holds a row for a while, proves it with its token, and loses it when the time is over."""

from datetime import timedelta
from typing import Any, Self, TypeVar
from uuid import uuid4

from django.db import models
from django.db.models.functions import Now

from kilit.lock.guard import LifecycleModel, LifecycleQuerySet

Row = TypeVar("Row", bound="LeasedModel")


class LeasedQuerySet(LifecycleQuerySet[Row]):
    """Questions about who holds what."""

    def lapsed(self) -> Self:
        """Return what somebody held for longer than the lease; the time is the database's."""
        return self.filter(lease_until__lt=Now())


class LeasedModel(LifecycleModel):
    """A row that one worker at a time may hold."""

    claim_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta(LifecycleModel.Meta):
        abstract = True


def new_lease(length: timedelta) -> dict[str, Any]:
    """Return the columns of a fresh claim."""
    return {"claim_token": uuid4(), "lease_until": Now() + length}


def no_lease() -> dict[str, Any]:
    """Return the columns of a row that nobody holds."""
    return {"claim_token": None, "lease_until": None}
