"""The id of the current request; it is in every log line and in the response headers."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
