"""The trace that the current work belongs to, as W3C's Trace Context describes it (`traceparent`).

A request continues the trace of its caller or begins one. Jobs that it creates keep the caller's (kilit.lock.triggers),
and workers continue it. It is in every log line, and in requests to others.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

HEADER = "traceparent"
# Later versions may add fields; an id of zeros and the version ff are invalid.
TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<parent>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
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


def current_trace() -> Trace | None:
    return _trace.get()


def trace_headers() -> dict[str, str]:
    """Return what a request to others carries, so that they can continue the trace."""
    trace = current_trace()
    return {HEADER: str(trace)} if trace else {}


def parse_traceparent(header: str) -> Trace | None:
    """Return the caller's trace and span; None if the header is not exactly as specified."""
    match = TRACEPARENT.fullmatch(header)
    if match is None or (match["version"] == "00" and match["more"]):
        return None
    return Trace(match["trace"], match["parent"], int(match["flags"], 16) & KNOWN_FLAGS, is_callers=True)


@contextmanager
def request_trace(header: str) -> Iterator[None]:
    """Continue a caller's trace with a span of our own; without a valid one, begin a trace."""
    with _in_trace(parse_traceparent(header) or Trace(secrets.token_hex(16), "")):
        yield


@contextmanager
def job_trace(traceparent: str) -> Iterator[None]:
    """Continue the trace that a job was created in, if it has one."""
    with _in_trace(parse_traceparent(traceparent)):
        yield


@contextmanager
def _in_trace(parent: Trace | None) -> Iterator[None]:
    span = parent and Trace(parent.trace_id, secrets.token_hex(8), parent.flags, parent.is_callers)
    token = _trace.set(span)
    try:
        yield
    finally:
        _trace.reset(token)
