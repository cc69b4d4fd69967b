"""The tests' own queue conforms, so the lock works."""

from datetime import timedelta

from kilit.lock.leases import new_lease, no_lease
from tests.apps.parcels.models import Parcel
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen


class TestParcels(LifecycleConformance):
    specimen = Specimen(
        Parcel,
        make=Parcel.objects.create,
        changes={
            "claim": lambda: new_lease(timedelta(seconds=30)),
            "deliver": no_lease,
            "recover": no_lease,
            "lose": no_lease,
        },
    )
