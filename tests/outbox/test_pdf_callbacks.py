"""A PDF job's result on its whole way: from the API to the caller's address, signed."""

import pytest

from outbox import log_reader, sending
from outbox.models import OutboxMessage
from outbox.states import MessageStatus
from pdfjobs.models import PdfCallback, PdfJob
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.pdf_jobs import body, bring

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker_lives")]


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_a_result_arrives_at_the_callers_address(receiver: WebhookReceiver, endpoint_at, api, status: str) -> None:
    endpoint_at("/hook", kinds=[])
    assert api.post(body(callbackUrl=f"{receiver.url}/results?order=7")).status_code == 201
    bring(PdfJob.objects.get(), status)

    log_reader.read_log()
    sending.send_due()

    (message,) = OutboxMessage.objects.all()
    assert (message.kind, message.status) == (f"pdf.{status}", MessageStatus.DELIVERED)
    assert receiver.accepted == {message.webhook_id: 1}  # its signature was verified
    assert list(receiver.counts) == ["/results?order=7"]


def test_a_callback_that_an_older_version_accepted_for_another_port_is_named_in_the_log(
    receiver, endpoint_at, api, caplog
) -> None:
    endpoint_at("/hook", kinds=[])
    api.post(body(callbackUrl=f"{receiver.url}/results"))
    PdfCallback.objects.update(url="http://127.0.0.1:1/results?order=7")
    bring(PdfJob.objects.get(), "succeeded")

    log_reader.read_log()

    assert not OutboxMessage.objects.exists()
    assert "no endpoint for a callback to http://127.0.0.1:1" in caplog.messages
