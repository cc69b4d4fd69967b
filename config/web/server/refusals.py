"""Answers to requests that never reach Django, in the form of the API's errors."""

import json
from enum import Enum
from http import HTTPStatus

from gunicorn.http.errors import ExpectationFailed, LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding

from kilit.api.errors import error_body
from kilit.web.counter import own_requests

# What a client may still send after an answer: many read it only when they have sent all they have.
UNREAD, UNREAD_BODY = 64 * 1024, 8 * 1024**2


class RefusalKind(Enum):
    """Status, code and message."""

    MALFORMED = 400, "BAD_REQUEST", "The request is not valid HTTP."
    URI_TOO_LONG = 414, "URI_TOO_LONG", "The address is too long."
    HEADER_TOO_LARGE = 431, "HEADER_TOO_LARGE", "The request has too many header fields, or too long ones."
    UNEXPECTED = 417, "EXPECTATION_FAILED", "Only 100-continue can be expected."
    UNSUPPORTED = 501, "UNSUPPORTED_TRANSFER_ENCODING", "The only supported transfer encoding is chunked."
    HEADER_TOO_SLOW = 408, "REQUEST_TIMEOUT", "The header of the request did not arrive within {:g} seconds."
    BODY_TOO_SLOW = 408, "REQUEST_TIMEOUT", "The body of the request arrived too slowly."
    BODY_TOO_LARGE = 413, "TOO_LARGE", "The body is larger than {} MB."
    NO_CREDENTIALS = 401, "UNAUTHENTICATED", "Without an API key or a session, a request may send at most {} KB."
    UNKNOWN_CREDENTIALS = (
        401,
        "UNAUTHENTICATED",
        "The API key is unknown, expired or revoked, or the session has ended; the body was not read.",
    )
    DATABASE_AWAY = (
        503,
        "UNAVAILABLE",
        "The database is not responding, so the request could not be checked; nothing was changed.",
    )
    TOO_MUCH_OF_ADDRESS = 429, "TOO_LARGE", "More than {} MB are being received from your address; try again later."
    NO_ROOM_FOR_BODY = 503, "UNAVAILABLE", "Too many large requests are being received; try again later."
    TOO_MANY_OF_ADDRESS = 429, "TOO_MANY_CONNECTIONS", "There are too many connections from your address."
    TOO_MANY = 503, "UNAVAILABLE", "There are too many connections; try again later."
    INTERNAL = 500, "INTERNAL", "Something went wrong on our side."
    STOPPING = 503, "UNAVAILABLE", "The server is stopping; try again."


WITHOUT_BODY = (RefusalKind.NO_CREDENTIALS, RefusalKind.UNKNOWN_CREDENTIALS, RefusalKind.DATABASE_AWAY)
SYNTAX: dict[type[Exception], RefusalKind] = {
    LimitRequestLine: RefusalKind.URI_TOO_LONG,
    LimitRequestHeaders: RefusalKind.HEADER_TOO_LARGE,
    ExpectationFailed: RefusalKind.UNEXPECTED,
    UnsupportedTransferCoding: RefusalKind.UNSUPPORTED,
}


class RequestRefused(Exception):
    """A request that is answered with an error; the connection is closed, because its rest was not read."""

    def __init__(self, refusal: RefusalKind, *limits: float) -> None:
        status, self.code, message = refusal.value
        super().__init__(message.format(*limits))
        self.http_status = HTTPStatus(status)
        self.unread = UNREAD_BODY if refusal in WITHOUT_BODY else UNREAD

    def answer(self) -> bytes:
        """Return what is sent to the client, and count it."""
        own_requests.refuse(self.code)
        body = json.dumps(error_body(self.code, str(self))).encode()
        lines = (
            f"HTTP/1.1 {self.http_status.value} {self.http_status.phrase}",
            "Connection: close",
            "Cache-Control: no-store",
            "Content-Type: application/json",
            *(("WWW-Authenticate: Bearer",) if self.http_status is HTTPStatus.UNAUTHORIZED else ()),
            f"Content-Length: {len(body)}",
        )
        return "\r\n".join((*lines, "", "")).encode() + body


def malformed(error: Exception) -> RequestRefused:
    return RequestRefused(SYNTAX.get(type(error), RefusalKind.MALFORMED))
