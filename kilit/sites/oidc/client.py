"""Requests to the provider, which must not keep a web process from its other work: it has four threads for everyone.

    with TURNS.take() as turn:
        status, body = turn.send("GET", url)

- At most `MOST_THREADS` threads of a process have a turn; others get a NotAskedError at once.
- A turn has one deadline for all its requests: for names, connections, TLS, and answers that come byte by byte.
- After a silence nobody asks for `PAUSE` seconds; who wants to gets a NotAskedError with the seconds that are left.

Redirects are not followed, and proxies of the environment are not used.
"""

import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import ceil

from kilit.outgoing.addresses import Deadline
from kilit.outgoing.sockets import http_connection, open_socket
from kilit.outgoing.urls import InvalidUrl, Target, parse_url

TIME_LIMIT = 5.0  # seconds for all requests of one turn
MOST_THREADS = 2
PAUSE = 30.0  # seconds
MOST_BYTES = 1024**2  # of an answer


class ProviderError(Exception):
    """The provider could not be reached, or did not answer as OpenID Connect says."""


class SilentError(ProviderError):
    """There was no answer, or none in time."""


class NotAskedError(ProviderError):
    """The provider was not asked: it was silent a moment ago, or enough threads wait for it."""


class Turns:
    """Who may ask the provider; shared by all threads of a process."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(MOST_THREADS)
        self._paused_until = 0.0

    @contextmanager
    def take(self) -> Iterator["Turn"]:
        self.check()
        if not self._free.acquire(blocking=False):
            raise NotAskedError("enough threads wait for the provider")
        try:
            yield Turn(self, Deadline(TIME_LIMIT))
        finally:
            self._free.release()

    def check(self) -> None:
        if seconds := self.seconds_to_wait():
            raise NotAskedError(f"it is not asked for another {seconds} s")

    def pause(self) -> None:
        if not self.seconds_to_wait():
            self._paused_until = time.monotonic() + PAUSE

    def resume(self) -> None:
        self._paused_until = 0.0

    def seconds_to_wait(self) -> int:
        """Return how long the provider is not asked because it was silent; 0 if it may be asked."""
        return max(0, ceil(self._paused_until - time.monotonic()))


class Turn:
    def __init__(self, turns: Turns, deadline: Deadline) -> None:
        self.turns, self.deadline = turns, deadline

    def send(
        self, method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        self.turns.check()  # again: another thread may have met the silence meanwhile
        try:
            return self._exchange(method, parse_url(url), body, headers or {})
        except InvalidUrl as error:
            raise ProviderError(f"{url} is no address") from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self.turns.pause()
            raise SilentError(f"{url}: {type(error).__name__}") from error

    def _exchange(
        self, method: str, target: Target, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        # The administrator chose the provider: it may be in a private network.
        pinned = open_socket(
            target.host, target.port, tls=target.uses_tls, deadline=self.deadline, is_allowed=lambda _: True
        )
        always = {"Host": target.authority, "Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            pinned.handshake()
            connection = http_connection(target.host, pinned)
            connection.request(method, target.path, body=body, headers={**always, "Connection": "close", **headers})
            response = connection.getresponse()
            content = response.read(MOST_BYTES + 1)
        finally:
            pinned.disconnect()
        if len(content) > MOST_BYTES:
            raise ProviderError(f"{target.authority}: the answer is too large")
        return response.status, content


TURNS = Turns()
