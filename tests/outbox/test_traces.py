"""A caller's trace on its whole way: from the request to the job, the worker's log lines, and the webhook."""

import logging

import pytest

from kilit.lock.models import Event
from kilit.trace import parse_traceparent
from outbox import log_reader, sending
from outbox.models import Attempt
from pdfjobs import work
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import PDF, body

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker_lives")]

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture(autouse=True)
def _without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "render", lambda *_, **__: PDF)


def test_a_trace_goes_from_the_request_to_the_worker_and_the_webhook(
    receiver, endpoint_at, api, log_lines, make_person
) -> None:
    endpoint_at("/hook", kinds=["pdf.succeeded"])
    log_lines.set_level(logging.INFO)

    answer = api.post(body(), traceparent=f"00-{TRACE}-{CALLER}-01")
    work.run_due_jobs()
    log_reader.read_log()
    sending.send_due()

    lines = {record.getMessage(): record for record in log_lines.records if getattr(record, "trace_id", "")}
    assert {lines["request"].trace_id, lines["pdf job succeeded"].trace_id} == {TRACE}
    stored = parse_traceparent(Event.objects.trace_of(PdfJob.objects.get()))
    assert stored
    assert (stored.trace_id, stored.span_id, stored.flags) == (TRACE, lines["request"].span_id, 1)
    (attempt,) = Attempt.objects.all()
    sent = parse_traceparent(attempt.request_headers["traceparent"])
    assert sent
    assert sent.trace_id == TRACE
    assert len({CALLER, stored.span_id, lines["pdf job succeeded"].span_id, sent.span_id}) == 4
    page = make_person().get(f"/admin/pdfjobs/pdfjob/{PdfJob.objects.get().pk}/change/")
    assert TRACE in page.text
    assert answer.status_code == 201


def test_a_job_of_a_caller_without_a_trace_has_none(receiver, endpoint_at, api, log_lines) -> None:
    """Also after one with a trace, by the same worker in the same turn."""
    endpoint_at("/hook", kinds=["pdf.succeeded"])
    log_lines.set_level(logging.INFO)
    api.post(body(), traceparent=f"00-{TRACE}-{CALLER}-01")
    api.post(body("offer"), traceparent="garbage")

    work.run_due_jobs()
    log_reader.read_log()
    sending.send_due()

    requests = [record.trace_id for record in log_lines.records if record.getMessage() == "request"]
    done = [record.trace_id for record in log_lines.records if record.getMessage() == "pdf job succeeded"]
    assert (requests[0], done) == (TRACE, [TRACE, ""])
    assert len(requests[1]) == 32
    assert requests[1] != TRACE
    # Sent at the same time, so in either order.
    assert sorted("traceparent" in one.request_headers for one in Attempt.objects.all()) == [False, True]
    created = Event.objects.filter(queue="pdf", event_type="JOB_CREATED").order_by("pk")
    assert ["traceparent" in one.details for one in created] == [True, False]
