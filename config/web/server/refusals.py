"""Answers to requests that never reach Django, in the form of the API's errors."""

import json
from http import HTTPStatus

from gunicorn.http.errors import ExpectationFailed, LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding

from kilit.api.errors import error_body
from kilit.web.counter import own_requests

# What a client may still send after an answer: many read it only when they have sent all they have.
UNREAD, UNREAD_BODY = 64 * 1024, 8 * 1024**2


class RequestRefused(Exception):
    """A request that is answered with an error; the connection is closed, because its rest was not read."""

    def __init__(self, status: HTTPStatus, code: str, message: str, *, unread: int = UNREAD) -> None:
        super().__init__(message)
        self.http_status, self.code = status, code
        self.unread = unread

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
    refusals: dict[type[Exception], tuple[HTTPStatus, str, str]] = {
        LimitRequestLine: (HTTPStatus.REQUEST_URI_TOO_LONG, "URI_TOO_LONG", "The address is too long."),
        LimitRequestHeaders: (
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "HEADER_TOO_LARGE",
            "The request has too many header fields, or too long ones.",
        ),
        ExpectationFailed: (HTTPStatus.EXPECTATION_FAILED, "EXPECTATION_FAILED", "Only 100-continue can be expected."),
        UnsupportedTransferCoding: (
            HTTPStatus.NOT_IMPLEMENTED,
            "UNSUPPORTED_TRANSFER_ENCODING",
            "The only supported transfer encoding is chunked.",
        ),
    }
    fallback = (HTTPStatus.BAD_REQUEST, "BAD_REQUEST", "The request is not valid HTTP.")
    return RequestRefused(*refusals.get(type(error), fallback))


def header_too_slow(seconds: float) -> RequestRefused:
    return _too_slow(f"The header of the request did not arrive within {seconds:g} seconds.")


def body_too_slow() -> RequestRefused:
    return _too_slow("The body of the request arrived too slowly.")


def _too_slow(message: str) -> RequestRefused:
    return RequestRefused(HTTPStatus.REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message)


def body_too_large(limit: int) -> RequestRefused:
    message = f"The body is larger than {limit // 1024**2} MB."
    return RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TOO_LARGE", message)


def key_or_session_missing(limit: int) -> RequestRefused:
    message = f"Without an API key or a session, a request may send at most {limit // 1024} KB."
    return RequestRefused(HTTPStatus.UNAUTHORIZED, "UNAUTHENTICATED", message, unread=UNREAD_BODY)


def key_or_session_unknown() -> RequestRefused:
    message = "The API key is unknown, expired or revoked, or the session has ended; the body was not read."
    return RequestRefused(HTTPStatus.UNAUTHORIZED, "UNAUTHENTICATED", message, unread=UNREAD_BODY)


def database_away() -> RequestRefused:
    message = "The database is not responding, so the request could not be checked; nothing was changed."
    return RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", message, unread=UNREAD_BODY)


def too_much_of_address(limit: int) -> RequestRefused:
    message = f"More than {limit // 1024**2} MB are being received from your address; try again later."
    return RequestRefused(HTTPStatus.TOO_MANY_REQUESTS, "TOO_LARGE", message)


def no_room_for_body() -> RequestRefused:
    message = "Too many large requests are being received; try again later."
    return RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", message)


def too_many_connections(*, of_address: bool) -> RequestRefused:
    if of_address:
        message = "There are too many connections from your address."
        return RequestRefused(HTTPStatus.TOO_MANY_REQUESTS, "TOO_MANY_CONNECTIONS", message)
    message = "There are too many connections; try again later."
    return RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", message)


def internal_error() -> RequestRefused:
    return RequestRefused(HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL", "Something went wrong on our side.")


def stopping() -> RequestRefused:
    return RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", "The server is stopping; try again.")
