"""Fetches a file over HTTP from public addresses only (kilit.outgoing)."""

import http.client
from collections.abc import Callable
from urllib.parse import SplitResult, urljoin, urlsplit

from kilit.outgoing.addresses import AddressNotAllowed, Deadline, is_public
from kilit.outgoing.sockets import PinnedSocket, http_connection, open_socket

MOST_BYTES = 1024 * 1024
TIME_LIMIT = 5.0  # seconds, for all of it
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)


class FetchError(Exception):
    """The message says why a file was not fetched."""


def fetch(address: str, *, allowed: Callable[[str], bool]) -> bytes:
    """Return the file's bytes; each redirect is checked like the first address."""
    deadline = Deadline(TIME_LIMIT)
    for _ in range(MOST_REDIRECTS + 1):
        if not allowed(address):
            raise FetchError(f"it redirects to {address}, which is not allowed.")
        try:
            content, moved_to = _get(address, deadline)
        except TimeoutError:
            raise FetchError(f"it took more than {TIME_LIMIT:g} s.") from None
        if moved_to is None:
            return content
        try:
            address = urljoin(address, moved_to)
        except ValueError:
            raise FetchError("it redirects to an invalid address.") from None
    raise FetchError(f"it redirects more than {MOST_REDIRECTS} times.")


def _get(address: str, deadline: Deadline) -> tuple[bytes, str | None]:
    """Return the content, or the address it redirects to."""
    connected = _connect(address, deadline)
    try:
        return _ask(urlsplit(address), connected)
    except TimeoutError:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise FetchError(f"the response was interrupted ({type(error).__name__}).") from None
    finally:
        connected.disconnect()


def _connect(address: str, deadline: Deadline) -> PinnedSocket:
    try:
        parts = urlsplit(address)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        return open_socket(parts.hostname or "", port, tls=tls, deadline=deadline, is_allowed=is_public)
    except AddressNotAllowed as error:
        raise FetchError(str(error)) from None
    except TimeoutError:
        raise
    except (OSError, ValueError) as error:
        raise FetchError(f"no connection ({error}).") from None


def _ask(parts: SplitResult, connected: PinnedSocket) -> tuple[bytes, str | None]:
    connected.handshake()
    connection = http_connection(parts.hostname or "", connected)
    # No compression, so that a small response cannot expand.
    headers = {"Host": parts.netloc, "Accept": "image/png, image/jpeg", "Accept-Encoding": "identity"}
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers)
    with connection.getresponse() as response:
        if response.status in REDIRECTS:
            return b"", response.getheader("Location") or ""
        if response.status != http.HTTPStatus.OK:
            raise FetchError(f"the status was {response.status}.")
        content = response.read(MOST_BYTES + 1)
    connected.deadline.left()
    if len(content) > MOST_BYTES:
        raise FetchError(f"it has more than {MOST_BYTES:,} bytes.")
    if response.length:
        raise FetchError("the response was interrupted.")
    return content, None
