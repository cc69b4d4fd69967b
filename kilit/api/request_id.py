"""The number of the request that is being answered; it is in every log line and in the answer's headers."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
