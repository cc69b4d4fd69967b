"""Conversions, their adjustments and imports of files conform to the lock."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from ociqueue.models import Adjustment, Conversion, ImportJob, Site, UploadBatch
from ociqueue.models.sending import FREE, RELEASED, failure
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import AdjustmentKind, Category
from ociqueue.uploader.results import Disposition, RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from tests.support.adjusted import api_site, make_sold, restate
from tests.support.attempts_conformance import AttemptsConformance, RetriedQueue
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


def the_site() -> Site:
    return Site.objects.first() or api_site()


def claim_uploads(model: type[Uploadable]) -> list[Any]:
    """Claim each row for an upload of its own, as a worker does."""
    claimed, turn = [], SiteTurn(model.objects.all(), limit=1)
    while True:
        upload, rows = claim(the_site(), turn)
        if not rows:
            return claimed
        rows[0].upload = upload
        claimed += mark_sent(upload, rows)


def answer(row: Any, *, disposition: Disposition) -> None:
    settle(row.upload, [row], [RowResult(disposition, "INTERNAL_ERROR", Category.TRANSIENT, "Later.")])


def sweep(model: type[Uploadable]) -> None:
    model.objects.recover()
    model.objects.cap()


def uploads_of(model: type[Uploadable], make: Callable[[], Any]) -> RetriedQueue:
    rows = model.objects
    return RetriedQueue(
        make=make,
        most_attempts=settings.API_MAX_ATTEMPTS,
        make_due=lambda: rows.waiting().update(next_retry_at=None),
        claim=partial(claim_uploads, model),
        finish=partial(answer, disposition=Disposition.ACCEPTED),
        fail=partial(answer, disposition=Disposition.RETRY),
        lapse=lambda: rows.filter(status="PROCESSING").update(claimed_at=Now() - timedelta(hours=1)),
        sweep=partial(sweep, model),
        retry=lambda row: rows.filter(pk=row.pk).retry_selected(),
    )


def make_for_upload() -> Conversion:
    conversion = new_conversion(the_site())
    conversion.save()
    return conversion


class TestAttemptsOfConversions(AttemptsConformance):
    queue = uploads_of(Conversion, make_for_upload)


class TestAttemptsOfAdjustments(AttemptsConformance):
    queue = uploads_of(Adjustment, lambda: restate(make_sold(the_site())))


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
