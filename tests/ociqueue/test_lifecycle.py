"""Conversions conform to the lock."""

from django.db.models.functions import Now

from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.models.sending import FREE, RELEASED, failure
from tests.support.conversions import new_conversion
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen


def make(**columns: object) -> Conversion:
    conversion = new_conversion(Site.objects.create(name="Mobilya"), **columns)
    conversion.save()
    return conversion


def fail() -> dict[str, object]:
    return failure("E", "VALIDATION", "no")


def upload() -> dict[str, object]:
    site = Site.objects.create(name="Mobilya")
    return {"open_batch": UploadBatch.objects.create(site=site, size=1)}


class TestConversions(LifecycleConformance):
    specimen = Specimen(
        Conversion,
        make=make,
        changes={
            "claim": lambda: {"claimed_at": Now()},
            "ack_failed": fail,
            "cap": fail,
            "mark_failed": lambda: {**fail(), **RELEASED},
            "recover": lambda: FREE,
            "receive": upload,
            "confirm": lambda: RELEASED,
            "reject": lambda: {**fail(), **RELEASED},
            "defer": lambda: {"claimed_at": None, **RELEASED},
            "lose": lambda: {"claimed_at": None, **RELEASED},
            "undo_retry": fail,
            "retract": fail,
            "retry_selected": lambda: FREE,
            "reset_to_queued": lambda: FREE,
            "requeue_transient": lambda: {"claimed_at": None},
        },
    )
