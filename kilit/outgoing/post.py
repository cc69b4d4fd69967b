"""POSTs over connections that are kept open for further messages to the same host.

    with Poster(networks) as poster:
        result = poster.post(url, body, headers)

A Poster may be shared by threads. It follows no redirects, accepts no compression, and limits each POST to `TIME_LIMIT`
seconds in all and the answer to `MOST_BYTES`. It uses `http.client`, which takes a third of httpx's CPU time and two
thirds of urllib3's.
"""

import http.client
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from kilit.outgoing.addresses import AddressNotAllowed, Deadline, NameNotResolved, Network, public_or_in
from kilit.outgoing.results import PostError, PostResult, parse_retry_after, status_error
from kilit.outgoing.sockets import PinnedSocket, http_connection, open_socket
from kilit.outgoing.urls import InvalidUrl, Target, parse_url

TIME_LIMIT = 15.0  # seconds, for all of it
MOST_BYTES = 64 * 1024
# A connection goes to an address that was checked. After this the name is resolved and checked again.
KEPT_FOR = 60.0  # seconds
# A connection that was kept may have been closed by the receiver. These say so, before any answer; the message is sent
# once more over a new one. Receivers tell repeated messages by their id.
CLOSED_MEANWHILE = (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError)

ERRORS: tuple[tuple[type[Exception], PostError], ...] = (
    (InvalidUrl, PostError.INVALID_URL),
    (AddressNotAllowed, PostError.ADDRESS_NOT_ALLOWED),
    (NameNotResolved, PostError.NAME_NOT_RESOLVED),
    (UnicodeError, PostError.NAME_NOT_RESOLVED),
    (TimeoutError, PostError.TIMED_OUT),
    (ssl.SSLEOFError, PostError.CONNECTION_FAILED),
    (ssl.SSLError, PostError.TLS_FAILED),
    (http.client.RemoteDisconnected, PostError.CONNECTION_FAILED),
    (OSError, PostError.CONNECTION_FAILED),
    (http.client.HTTPException, PostError.INVALID_RESPONSE),
    (ValueError, PostError.INVALID_RESPONSE),
)
CAUGHT = tuple(kind for kind, _ in ERRORS)

Server = tuple[str, str, int]  # scheme, host and port


@dataclass
class _Kept:
    pinned: PinnedSocket
    http: http.client.HTTPConnection
    until: float


class Poster:
    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._is_allowed = public_or_in(networks)
        self._idle: dict[Server, list[_Kept]] = defaultdict(list)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            kept = [one for idle in self._idle.values() for one in idle]
            self._idle.clear()
        for one in kept:
            one.pinned.disconnect()

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> PostResult:
        """Send a body; never raises for what the network or the receiver does."""
        start = time.monotonic()
        try:
            target = parse_url(url)
            status, answer, retry_after = self._send(target, body, headers, Deadline(TIME_LIMIT))
        except CAUGHT as error:
            code = next(code for kind, code in ERRORS if isinstance(error, kind))
            return PostResult(time.monotonic() - start, error=code, detail=f"{type(error).__name__}: {error}")
        return PostResult(time.monotonic() - start, status, answer, retry_after, status_error(status))

    def _send(
        self, target: Target, body: bytes, headers: Mapping[str, str], deadline: Deadline
    ) -> tuple[int, str, float | None]:
        if kept := self._take(target.server):
            try:
                return self._exchange(target, kept, body, headers, deadline)
            except CLOSED_MEANWHILE:
                pass
        return self._exchange(target, self._open(target, deadline), body, headers, deadline)

    def _exchange(
        self, target: Target, kept: _Kept, body: bytes, headers: Mapping[str, str], deadline: Deadline
    ) -> tuple[int, str, float | None]:
        kept.pinned.deadline = deadline
        is_reusable = False
        try:
            always = {"Host": target.authority, "Accept-Encoding": "identity"}
            kept.http.request("POST", target.path, body=body, headers={**always, **headers})
            response = kept.http.getresponse()
            answer = response.read(MOST_BYTES)
            # What was not read would be taken for the next answer.
            is_reusable = response.isclosed() and not response.will_close
        finally:
            if is_reusable:
                self._keep(target.server, kept)
            else:
                kept.pinned.disconnect()
        retry_after = parse_retry_after(response.getheader("Retry-After"))
        return response.status, answer.decode("utf-8", "replace"), retry_after

    def _open(self, target: Target, deadline: Deadline) -> _Kept:
        pinned = open_socket(
            target.host, target.port, tls=target.uses_tls, deadline=deadline, is_allowed=self._is_allowed
        )
        try:
            pinned.handshake()
        except BaseException:
            pinned.disconnect()
            raise
        return _Kept(pinned, http_connection(target.host, pinned), time.monotonic() + KEPT_FOR)

    def _take(self, server: Server) -> _Kept | None:
        with self._lock:
            idle = self._idle[server]
            while idle:
                kept = idle.pop()
                if time.monotonic() < kept.until:
                    return kept
                kept.pinned.disconnect()
        return None

    def _keep(self, server: Server, kept: _Kept) -> None:
        with self._lock:
            self._idle[server].append(kept)
