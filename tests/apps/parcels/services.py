"""What a worker does with parcels."""

import time

from django.db.models import QuerySet

from kilit.lock.guard import MoveRefused
from tests.apps.parcels.models import Parcel


def parcels_due() -> list["QuerySet[Parcel]"]:
    return [Parcel.objects.waiting(), Parcel.objects.lapsed()]


def lapsed_parcels() -> list["QuerySet[Parcel]"]:
    return [Parcel.objects.lapsed()]


def carry_parcels() -> None:
    """Carry one after the other until none waits; recover first, so that a test need not wait for the sweep."""
    Parcel.objects.recover()
    while claimed := Parcel.objects.claim(limit=1):
        for parcel in claimed:
            time.sleep(parcel.work)
            try:
                parcel.deliver()
            except MoveRefused:
                continue  # the lease lapsed, and another worker carries it


def recover_parcels() -> str:
    return f"Recovered {Parcel.objects.recover()}."
