"""The trace that the current work belongs to, as W3C's Trace Context describes it (`traceparent`).

A request continues the trace of its caller or begins one. Jobs that it creates keep the caller's (kilit.lock.triggers),
and workers continue it. It is in every log line, and in requests to others. Where spans are sent (`send_spans`), each
request and each job is a span, and jobs keep every trace.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    SpanKind,
    Tracer,
    format_span_id,
    format_trace_id,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

HEADER = "traceparent"
W3C = TraceContextTextMapPropagator()
KNOWN_FLAGS = 0b11  # sampled, and random


@dataclass(frozen=True)
class Trace:
    trace_id: str
    span_id: str
    flags: int = 0
    is_callers: bool = False  # one that others know: it is kept with the jobs that the work creates

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)
_tracer: Tracer | None = None


def send_spans(tracer: Tracer | None) -> None:
    global _tracer
    _tracer = tracer


def current_trace() -> Trace | None:
    return _trace.get()


def trace_headers() -> dict[str, str]:
    """Return what a request to others carries, so that they can continue the trace."""
    trace = current_trace()
    return {HEADER: str(trace)} if trace else {}


def parse_traceparent(header: str) -> Trace | None:
    """Return the caller's trace and span; None if the header is not as specified."""
    return _trace_of(get_current_span(W3C.extract({HEADER: header})))


def _trace_of(span: Span) -> Trace | None:
    ids = span.get_span_context()
    if not ids.is_valid:
        return None
    flags = ids.trace_flags & KNOWN_FLAGS
    return Trace(format_trace_id(ids.trace_id), format_span_id(ids.span_id), flags, is_callers=True)


@contextmanager
def request_trace(header: str) -> Iterator[Span]:
    """Continue a caller's trace with a span of our own; without a valid one, begin a trace."""
    with _in_trace(parse_traceparent(header), "request", SpanKind.SERVER, begin=True) as span:
        yield span


@contextmanager
def job_trace(traceparent: str, name: str) -> Iterator[Span]:
    """Continue the trace that a job was created in, if it has one."""
    with _in_trace(parse_traceparent(traceparent), name, SpanKind.CONSUMER) as span:
        yield span


@contextmanager
def _in_trace(parent: Trace | None, name: str, kind: SpanKind, *, begin: bool = False) -> Iterator[Span]:
    span: Span = INVALID_SPAN
    trace = None
    if _tracer:
        span = _tracer.start_span(name, W3C.extract({HEADER: str(parent)}) if parent else Context(), kind)
        trace = _trace_of(span)
    elif parent:
        trace = replace(parent, span_id=secrets.token_hex(8))
    elif begin:
        trace = Trace(secrets.token_hex(16), secrets.token_hex(8))
    token = _trace.set(trace)
    try:
        yield span
    finally:
        _trace.reset(token)
        span.end()
