"""The spans of requests and jobs reach a collector, without paths, and belong to the trace of the caller."""

import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config.settings.spans import NOT_INSTALLED, start_spans
from kilit.trace import current_trace, job_trace, send_spans

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """A collector of OpenTelemetry that keeps what it is sent."""

    flush: Callable[[], bool]

    def __init__(self) -> None:
        bodies: list[bytes] = []
        self.bodies = bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> dict[str, tuple[str, str, dict[str, object]]]:
        """Return trace, parent and attributes by name."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        spans = [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return {
            span.name: (
                span.trace_id.hex(),
                span.parent_span_id.hex(),
                {one.key: one.value.string_value or one.value.int_value for one in span.attributes},
            )
            for span in spans
        }


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()
    thread.join()


@pytest.fixture
def sending(collector: Collector) -> Iterator[None]:
    """Send spans within the test; what is left is sent when it ends."""
    provider = start_spans(collector.address)
    collector.flush = provider.force_flush
    yield
    send_spans(None)
    provider.shutdown()


@pytest.mark.usefixtures("sending")
def test_a_request_is_a_span_of_its_callers_trace_named_for_its_route(collector: Collector) -> None:
    Client().get("/static/secret-path", headers={"traceparent": f"00-{TRACE}-{CALLER}-01"})
    collector.flush()

    ((name, (trace, parent, attributes)),) = collector.spans().items()
    assert (trace, parent) == (TRACE, CALLER)
    assert attributes["http.response.status_code"] == 404
    assert b"secret-path" not in b"".join(collector.bodies)
    assert name == f"GET {attributes['http.route']}"


@pytest.mark.usefixtures("sending")
def test_a_job_is_a_span_whose_trace_it_keeps_for_others(collector: Collector) -> None:
    with job_trace("", "pdf job"):
        begun = current_trace()
    with job_trace(str(begun), "webhook"):
        pass
    collector.flush()

    spans = collector.spans()
    assert begun
    assert begun.is_callers
    assert spans["pdf job"][:2] == (begun.trace_id, "")
    assert spans["webhook"][:2] == (begun.trace_id, begun.span_id)


def test_an_endpoint_without_the_packages_ends_the_start_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)

    with pytest.raises(ImproperlyConfigured) as error:
        start_spans("http://127.0.0.1:1")

    assert str(error.value) == NOT_INSTALLED
