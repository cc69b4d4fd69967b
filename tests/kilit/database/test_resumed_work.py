"""A connection cut at every commit of a queue's work, each once: the work goes on, and nothing is lost or doubled."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from kilit.files import TEMP_SUFFIX
from kilit.lock import outages
from kilit.lock.models import Event
from kilit.lock.outages import DATABASE_DOWN
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion, Site
from ociqueue.uploader.upload_run import upload_due
from orchestrator.models import Job
from orchestrator.workflow.decisions import approve
from orchestrator.workflow.runner import tick
from outbox import sending
from outbox.alerts import making
from outbox.alerts.sending import send_alerts
from outbox.models import Attempt, OutboxMessage
from outbox.models.channel import ChannelKind
from pdfjobs import work
from pdfjobs.models import PdfJob
from tests.support.alerts import JsonReceiver, make_channel
from tests.support.api import Api
from tests.support.cut_commits import CuttingProxy
from tests.support.cutting_handover import too_late, with_the_saw
from tests.support.cutting_jobs import GOVDE, make_job
from tests.support.cutting_runs import player
from tests.support.outbox import make_message
from tests.support.pdf_jobs import PDF, files, new_job

pytestmark = pytest.mark.django_db(transaction=True)

TURNS = 60  # far more than a queue's work has commits


@pytest.fixture(params=["request", "answer"])
def resume(request: Any, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Repeat a step, which each cut interrupts, until all is done; in between leases run out."""
    monkeypatch.setattr(outages, "TRY_AGAIN_AFTER", 0)
    Heartbeat.objects.create(name="here:1", alive_at=Now() + timedelta(days=1))
    cuts = 0

    def resume(step: Callable[[], Any], *, until: Callable[[], bool], lapse: Callable[[], Any]) -> None:
        nonlocal cuts
        for _ in range(TURNS):
            proxy.cut_each = request.param
            with suppress(*DATABASE_DOWN):
                step()
            connection.close()
            proxy.cut_each = proxy.cut = ""
            cuts = proxy.cuts
            if until():
                return
            lapse()
        raise AssertionError("it does not end")

    yield resume
    assert cuts > 1


@pytest.fixture
def alert_receiver() -> Iterator[JsonReceiver]:
    server = JsonReceiver()
    yield server
    server.stop()


def is_in(row: Any, *states: str) -> Callable[[], bool]:
    def is_there() -> bool:
        row.refresh_from_db()
        return row.status in states

    return is_there


def held_rows_lapse(model: Any) -> None:
    model.objects.exclude(lease_until=None).update(lease_until=Now() - timedelta(seconds=1))


def recover(model: Any) -> None:
    held_rows_lapse(model)
    model.objects.recover()


def cutting_jobs_lapse() -> None:
    held_rows_lapse(Job)
    Job.objects.update(next_run_at=Now(), lapse_count=0)


def test_a_cutting_job_reaches_the_saw_once(floor, customer, at_rest_at_once, resume) -> None:
    job = make_job(opti_mode="C", parts=[GOVDE])
    saw = player(floor, only="saw")

    def lapse() -> None:
        cutting_jobs_lapse()
        saw.look()

    resume(lambda: tick(patient=True), until=is_in(job, "HOLD"), lapse=lapse)
    player(floor, only="opti").look()
    approve(job.pk)
    resume(lambda: tick(patient=True), until=is_in(job, "DONE", "FAILED"), lapse=lapse)

    assert (job.status, job.error_code, job.retry_count, job.handover_count) == ("DONE", "", 0, 0)
    assert [path.name for path in floor.processed.iterdir()] == job.delivery_names
    assert list(floor.inbox.iterdir()) == []
    verbs = [event.details.get("verb") for event in Event.objects.of(job)]
    assert (verbs.count("collect"), verbs.count("deliver"), verbs.count("finish")) == (1, 1, 1)


def test_a_file_that_was_taken_back_is_known_to_be_ours(floor, customer, at_rest_at_once, resume) -> None:
    job = with_the_saw(floor)
    too_late(job)

    resume(lambda: tick(patient=True), until=is_in(job, "FAILED"), lapse=cutting_jobs_lapse)

    assert (job.error_code, job.open_deliveries) == ("E_OSI_ACK_TIMEOUT", [])
    # The evidence stays if the last answer is lost. The saw does not read it, and a later delivery removes it.
    assert {path.suffix for path in floor.inbox.iterdir()} <= {TEMP_SUFFIX}


def test_an_alert_is_sent_once_and_has_one_attempt(alert_receiver, resume) -> None:
    message = making.send_test(make_channel(alert_receiver.address, kind=ChannelKind.APPRISE))

    resume(send_alerts, until=is_in(message, "DELIVERED"), lapse=lambda: recover(OutboxMessage))

    assert len(alert_receiver.received) == 1
    assert Attempt.objects.count() == 1


def test_a_message_is_sent_once_and_has_one_attempt(receiver, endpoint_at, resume) -> None:
    message = make_message(endpoint=endpoint_at())

    resume(sending.send_due, until=is_in(message, "DELIVERED"), lapse=lambda: recover(OutboxMessage))

    assert receiver.accepted == {message.webhook_id: 1}
    assert Attempt.objects.count() == 1


def test_a_document_is_made_and_has_its_file(artifact_folder, monkeypatch, resume) -> None:
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)
    job = new_job()

    resume(work.run_due_jobs, until=is_in(job, "succeeded", "failed"), lapse=lambda: recover(PdfJob))

    assert job.status == "succeeded"
    assert job.artifact_key in files(artifact_folder)


def test_google_gets_an_upload_once(google, api_site, make_rows, resume) -> None:
    rows = make_rows(api_site, count=3)

    def lapse() -> None:
        Conversion.objects.recover(min_age=-timedelta(minutes=1))

    resume(upload_due, until=lambda: all_completed(api_site), lapse=lapse)

    sent = [row.order_id for call in google.calls for row in call.request.conversions]
    assert sorted(sent) == sorted(row.order_id for row in rows)


def test_a_script_exports_and_acknowledges_each_row(site: Site, api: Api, make_rows, resume) -> None:
    make_rows(site, count=3)
    exported: list[str] = []

    def run_script() -> None:
        answer = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true")
        if answer.status_code == 200:
            exported.extend(row["id"] for row in answer.json())
        if exported:
            api.post("oci/ack", {"siteId": site.public_id, "queueIds": sorted(set(exported))})

    def lapse() -> None:
        if not exported:  # a script that got the rows acknowledges them in time
            Conversion.objects.recover(min_age=-timedelta(minutes=1))

    resume(run_script, until=lambda: all_completed(site), lapse=lapse)

    claims = Event.objects.filter(details__verb="claim").count()
    assert claims == sum(Conversion.objects.values_list("attempt_count", flat=True))
    assert len(exported) == 3


def all_completed(site: Site) -> bool:
    return not Conversion.objects.for_site(site).exclude(status="COMPLETED").exists()
