"""What a good day leaves in each queue, made as the product makes it."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models.functions import Now

from kilit.batches import run
from kilit.batches.models import BulkAction
from kilit.batches.run import ENGINE
from kilit.lock.clock import database_time
from kilit.lock.identity import uuid7
from kilit.lock.leases import no_lease
from ociqueue.intake.adjustments import adjust
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Adjustment, Conversion, IdentifierKind, Receipt, Site, UploadBatch
from ociqueue.models.sending import PerRowValues, failure
from ociqueue.models.statements import accept, confirm
from ociqueue.operating.erasure import Person, forget
from ociqueue.states import Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from orchestrator.drafts.sending import send_draft
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.planning.rules import current_rules
from outbox import log_reader
from outbox.models import OutboxMessage
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.support.drafts import UPLOAD, make_draft
from tests.support.pdf_jobs import PDF
from tests.system.chaos.clients import CLEAR

ADDRESS = f"someone{CLEAR}"


def deliver() -> list[str]:
    """Report all that happened, as the workers do; return the ids of the messages."""
    log_reader.read_log()
    messages = OutboxMessage.objects.claim(limit=1000)
    OutboxMessage.objects.move("deliver", delivered_at=Now(), **no_lease())
    return [message.webhook_id for message in messages]


def upload(site: Site, row: Conversion) -> Conversion:
    """Have Google take a row."""
    batch = UploadBatch.objects.create(pk=uuid7(), site=site, size=1)
    Conversion.objects.for_site(site).claim(limit=1, batch=batch.pk, sender=SyncMethod.API)
    accept(Conversion).run([row.pk], batch=batch.pk, request_id="r-1")
    return row


def receive(site: Site, make_conversion: Callable[..., Conversion]) -> list[Conversion]:
    """Have Data Manager take two rows, and confirm the first."""
    for click_id in ("d", "e"):
        make_conversion(site, gclid=click_id)
    batch, rows = claim(site, SiteTurn(Conversion.objects.for_site(site)))
    mark_sent(batch, rows)
    settle(batch, rows, [RowResult(Disposition.RECEIVED, request_id="r-2")] * 2)
    confirm(Conversion).run([rows[0].pk], batch=batch)
    why = {**failure("CLICK_NOT_FOUND", "VALIDATION", "no"), "outcome_unknown": False, "provider_request_id": "r-2"}
    Conversion.objects.received_in(batch).settle("reject", PerRowValues({rows[1].pk: why}))
    Receipt.objects.mark_settled(Receipt.objects.get().pk, confirmed=1, rejected=1)
    return rows


def restate(site: Site, row: Conversion, value: int) -> None:
    """Have Data Manager take another value of a conversion, and confirm it."""
    adjust(site, [{"id": str(row), "kind": "RESTATEMENT", "value": value}])
    batch, rows = claim(site, SiteTurn(Adjustment.objects.for_site(site)))
    mark_sent(batch, rows)
    settle(batch, rows, [RowResult(Disposition.RECEIVED, request_id="r-3")])
    confirm(Adjustment).run([rows[0].pk], batch=batch)
    Receipt.objects.mark_settled(Receipt.objects.get(request_id="r-3").pk, confirmed=1)


def make_document(job: PdfJob) -> None:
    """Make a document as a worker does."""
    (claimed,) = PdfJob.objects.filter(pk=job.pk).claim()
    kept = artifacts.save(artifacts.new_key(claimed.pk, claimed.started_at), PDF)
    claimed.succeed(artifact_key=kept.artifact_key, size=kept.size, digest=kept.digest)


def hand_over(job: Job, saw: Path) -> None:
    """Fail an order that the saw has, as one whose runners all died."""
    for name in ("inbox", "processed", "failed"):
        (saw / name).mkdir(parents=True)
    (saw / "processed" / f"{job.pk}_a1.xml").write_text("<x/>")
    held = Job.objects.claim()
    held.fail(JobError(Code.UNKNOWN, "lost"))


def act_in_bulk() -> None:
    """Retry what failed, mark it failed again: all in bulk."""
    admin = User.objects.create_superuser("root")
    for action, state in (("retry", "FAILED"), ("mark_failed", "QUEUED")):
        asked = {"queue": "conversion", "action": action, "user": admin, "filters": {"status": state}}
        planned = run.plan_now(**asked, filters_text=state, reason="mended", options={})
        BulkAction.objects.filter(pk=planned.pk).start(count=1)
        ENGINE.work_due()


def adjust_at_google(site: Site, row: Conversion) -> Decimal:
    """Have Google Ads take another value of a conversion; return it."""
    adjust(site, [{"id": str(row), "kind": "RESTATEMENT", "value": 7000}])
    batch, rows = claim(site, SiteTurn(Adjustment.objects.for_site(site)))
    mark_sent(batch, rows)
    settle(batch, rows, [RowResult(Disposition.ACCEPTED, request_id="r-5")])
    return Decimal(7000)


def send_draft_with_sheet() -> None:
    """Send an order that came as a sheet, and end it."""
    job, _ = send_draft(make_draft(upload=UPLOAD, order_id="S-2002").pk, current_rules())
    Job.objects.filter(pk=job.pk).cancel(message="chaos")


def correct(site: Site, row: Conversion) -> None:
    """Send a corrected copy of a conversion that failed."""
    (result,) = replace_rows(site, [Correction(str(row), {"gclid": "better"})])
    Conversion.objects.filter(pk=result.copy.pk).mark_failed()  # type: ignore[union-attr]


def erase(site: Site) -> None:
    """Take conversions of two people, and erase one of them."""
    items = [
        {
            "conversionName": "S",
            "email": address,
            "conversionTime": (database_time() - timedelta(hours=1)).isoformat(),
            "conversionValue": 1,
            "sourceKey": key,
        }
        for key, address in (("has-address", ADDRESS), ("erased", f"gone{CLEAR}"))
    ]
    enqueue(site, items)
    Conversion.objects.for_site(site).mark_failed()
    list(forget(Person(IdentifierKind.EMAIL, f"gone{CLEAR}"), [site]))
