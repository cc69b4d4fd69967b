"""Sends the spans of requests and jobs to a collector of OpenTelemetry, if OTEL_EXPORTER_OTLP_ENDPOINT is set.

What leaves: routes, methods, status codes, names of queues and times. No paths, no texts of errors, no rows.
"""

from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from kilit import __version__
from kilit.trace import send_spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as Provider

NOT_INSTALLED = "OTEL_EXPORTER_OTLP_ENDPOINT is set, but opentelemetry-sdk is not installed: install the extra `otel`."
TIMEOUT = 3  # seconds; a process that ends waits so long for a collector that does not answer


def start_spans(endpoint: str) -> "Provider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # an optional package
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ImproperlyConfigured(NOT_INSTALLED) from None
    # OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME count, as everywhere.
    provider = TracerProvider(resource=Resource.create({"service.name": "kilit", "service.version": __version__}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=TIMEOUT)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    send_spans(provider.get_tracer("kilit", __version__))
    return provider
