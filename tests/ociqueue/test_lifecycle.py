"""Conversions, their adjustments and imports of files conform to the lock."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from ociqueue.models import Adjustment, Conversion, ImportJob, Site, UploadBatch
from ociqueue.models.sending import FREE, RELEASED, failure
from ociqueue.states import AdjustmentKind
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


def make_adjustment(**columns: object) -> Adjustment:
    original = make().move("claim", claimed_at=Now()).move("ack")
    facts = {"site": original.site, "action": original.action, "order_id": original.order_id}
    return Adjustment.objects.create(
        original=original, kind=AdjustmentKind.RETRACTION, adjusted_at=datetime.now(UTC), **facts, **columns
    )


CHANGES = {
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
    "retry_selected": lambda: FREE,
    "reset_to_queued": lambda: FREE,
    "requeue_transient": lambda: {"claimed_at": None},
}


class TestConversions(LifecycleConformance):
    specimen = Specimen(Conversion, make=make, changes={**CHANGES, "retract": fail, "withhold": fail, "expire": fail})


class TestAdjustments(LifecycleConformance):
    specimen = Specimen(
        Adjustment,
        make=make_adjustment,
        changes={**CHANGES, "overtake": fail, "lose_original": fail, "revive": lambda: FREE},
    )


def make_import(**columns: object) -> ImportJob:
    asker, _made = User.objects.get_or_create(username="asker")
    file = {"file_name": "a.csv", "size": 10, "kind": "conversions", "encoding": "utf-8"}
    site = Site.objects.create(name="Mobilya")
    return ImportJob.objects.create(**{**file, "site": site, "asked_by": asker, **columns})


class TestImports(LifecycleConformance):
    specimen = Specimen(
        ImportJob,
        make=make_import,
        changes={
            "check": lambda: {"decimal_mark": "."},
            "start": lambda: {"started_at": Now()},
            "finish": lambda: {"done_bytes": 10},
            "refuse": lambda: {"error": "no"},
            "fail": lambda: {"error": "no"},
        },
    )


@pytest.mark.django_db
def test_nothing_is_stored_of_a_file_that_was_not_read_whoever_starts_it() -> None:
    job = make_import().move("check")

    with pytest.raises(IntegrityError, match="running_import_was_read"), transaction.atomic():
        job.move("prepare")
    with pytest.raises(IntegrityError, match="done_import_read_all"), transaction.atomic():
        job.move("prepare", decimal_mark=",").move("start", started_at=Now()).move("finish", done_bytes=9)
