"""A real message of each kind: made by real moves, as the document describes it, and with nothing personal in it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now

from kilit.api.webhooks import TEST, webhook_kinds
from kilit.sites.models import Tenant
from ociqueue.models import Adjustment, Circuit, Conversion, Site
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from orchestrator.states import JobState
from outbox import log_reader
from outbox.endpoints import send_test
from outbox.models import OutboxMessage
from pdfjobs.states import PdfStatus
from tests.support.adjustments import restate, retract
from tests.support.conversions import make_failed, new_conversion
from tests.support.cutting_jobs import CUTTING_JOBS
from tests.support.outbox import make_endpoint
from tests.support.pdf_jobs import bring, new_job
from tests.support.uploads import received
from tests.support.webhook_schema import check_body

pytestmark = pytest.mark.django_db(transaction=True)

PRIVATE = {"name": "Ayşe Yılmaz", "phone": "+905551234567", "mail": "ayse@example.com", "click": "Cj0KCQ-private_1"}
ERROR = "Not for " + ", ".join(PRIVATE.values())


def complete_conversion(site: Site) -> None:
    new_conversion(site, gclid=PRIVATE["click"]).save()
    Conversion.objects.claim(limit=1)
    Conversion.objects.all().move("ack")


def receive_conversion(site: Site) -> None:
    Site.objects.update(sync_method=SyncMethod.DATA_MANAGER)
    site.refresh_from_db()
    received(site, gclid=PRIVATE["click"])


def receive_adjustment(site: Site) -> None:
    Site.objects.update(sync_method=SyncMethod.DATA_MANAGER)
    site.refresh_from_db()
    new_conversion(site, gclid=PRIVATE["click"]).save()
    Conversion.objects.all().move("claim", claimed_at=Now())
    Conversion.objects.all().move("ack")
    restate(site, Conversion.objects.get(), 80)
    batch, rows = claim(site, SiteTurn(Adjustment.objects.for_site(site)))
    settle(batch, mark_sent(batch, rows), [RowResult(Disposition.RECEIVED, request_id="request-1")])


def fail_adjustment(site: Site) -> None:
    receive_adjustment(site)
    Adjustment.objects.mark_failed(reason=f"Click {PRIVATE['click']} of {PRIVATE['mail']}, {PRIVATE['phone']}.")


def complete_adjustment(site: Site) -> None:
    new_conversion(site, gclid=PRIVATE["click"]).save()
    retract(site, Conversion.objects.get())


def trip(site: Site) -> None:
    Circuit.objects.trip(site, code="DENIED", category=Category.AUTH, reason=f"Ask {PRIVATE['mail']}")


def pdf_job(status: PdfStatus) -> Callable[[Site], Any]:
    return lambda _site: bring(new_job(), status, detail=ERROR)


def cutting_job(state: JobState) -> Callable[[Site], Any]:
    return lambda _site: CUTTING_JOBS.row_in(state)


MAKERS: dict[str, Callable[[Site], Any]] = {
    "conversion.uploaded": receive_conversion,
    "conversion.completed": complete_conversion,
    "conversion.failed": lambda site: make_failed(site, message=ERROR.replace("Ayşe", "A"), gclid=PRIVATE["click"]),
    "adjustment.uploaded": receive_adjustment,
    "adjustment.completed": complete_adjustment,
    "adjustment.failed": fail_adjustment,
    "site.paused": lambda site: Tenant.objects.filter(pk=site.pk).pause(reason=f"Call {PRIVATE['phone']}."),
    "site.resumed": lambda site: Tenant.objects.filter(pk=site.pk).pause(reason="x") and Tenant.objects.resume(),
    "circuit.opened": trip,
    "circuit.closed": lambda site: trip(site) or Circuit.objects.close(),
    "cutting.hold": cutting_job(JobState.HOLD),
    "cutting.done": cutting_job(JobState.DONE),
    "cutting.failed": cutting_job(JobState.FAILED),
    "pdf.succeeded": pdf_job(PdfStatus.SUCCEEDED),
    "pdf.failed": pdf_job(PdfStatus.FAILED),
    "pdf.expired": pdf_job(PdfStatus.EXPIRED),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_message_of_a_kind_is_as_described(kind: str) -> None:
    site = Site.objects.create(name="Mobilya", default_currency="TRY")
    make_endpoint(kinds=[kind])

    MAKERS[kind](site)
    log_reader.read_log()

    (message,) = OutboxMessage.objects.all()
    assert message.kind == kind
    check_body(message.body)
    for private in (PRIVATE["phone"], PRIVATE["mail"], PRIVATE["click"]):
        assert private not in message.body


def test_a_test_is_as_described() -> None:
    message = send_test(make_endpoint())

    assert message.kind == TEST
    check_body(message.body)


def test_every_kind_is_made_here() -> None:
    assert set(MAKERS) == set(webhook_kinds)
