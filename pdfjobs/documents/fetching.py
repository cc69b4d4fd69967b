"""Fetches a file over HTTP from public addresses only.

The name is resolved once, the addresses are checked, and the connection goes to the checked address: a name that
resolves differently a moment later changes nothing.
"""

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

MOST_BYTES = 1024 * 1024
TIME_LIMIT = 5.0  # seconds, for all of it
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
# Not public, although some versions of Python call them global: reserved networks, relays, and IPv6 forms of IPv4
# addresses, which may be private.
SET_ASIDE = ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20")
TRANSLATED = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
REFUSED = [ipaddress.ip_network(network) for network in (*SET_ASIDE, *TRANSLATED)]


class FetchError(Exception):
    """The message says why a file was not fetched."""


def fetch(address: str, *, allowed: Callable[[str], bool]) -> bytes:
    """Return the file's bytes; each redirect is checked like the first address."""
    deadline = time.monotonic() + TIME_LIMIT
    for _ in range(MOST_REDIRECTS + 1):
        if not allowed(address):
            raise FetchError(f"it redirects to {address}, which is not allowed.")
        content, moved_to = _get(address, deadline)
        if moved_to is None:
            return content
        try:
            address = urljoin(address, moved_to)
        except ValueError:
            raise FetchError("it redirects to an invalid address.") from None
    raise FetchError(f"it redirects more than {MOST_REDIRECTS} times.")


def is_public(host: str) -> bool:
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    is_refused = any(address in network for network in REFUSED)
    return address.is_global and not (is_refused or address.is_multicast or address.is_reserved)


def _get(address: str, deadline: float) -> tuple[bytes, str | None]:
    """Return the content, or the address it redirects to."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        host.encode("idna")  # TLS cannot send such a name, so do not connect
        channel = _connect(host, port, deadline)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            channel = context.wrap_socket(channel, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError) as error:
        raise FetchError(f"no connection ({error}).") from None
    # A socket's timeout restarts with every byte; this one limits the whole transfer.
    alarm = threading.Timer(_left(deadline), _shut_down, [channel])
    alarm.daemon = True
    alarm.start()
    try:
        return _ask(parts, channel, deadline)
    except (OSError, ValueError, http.client.HTTPException) as error:
        _left(deadline)
        raise FetchError(f"the response was interrupted ({type(error).__name__}).") from None
    finally:
        alarm.cancel()
        channel.close()


def _ask(parts: SplitResult, channel: socket.socket, deadline: float) -> tuple[bytes, str | None]:
    if isinstance(channel, ssl.SSLSocket):
        channel.do_handshake()
    connection = http.client.HTTPConnection(parts.hostname or "")
    connection.sock = channel
    # No compression, so that a small response cannot expand.
    headers = {"Host": parts.netloc, "Accept": "image/png, image/jpeg", "Accept-Encoding": "identity"}
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers)
    with connection.getresponse() as response:
        if response.status in REDIRECTS:
            return b"", response.getheader("Location") or ""
        if response.status != http.HTTPStatus.OK:
            raise FetchError(f"the status was {response.status}.")
        content = response.read(MOST_BYTES + 1)
    _left(deadline)
    if len(content) > MOST_BYTES:
        raise FetchError(f"it has more than {MOST_BYTES:,} bytes.")
    if response.length:
        raise FetchError("the response was interrupted.")
    return content, None


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    addresses = _resolve(host, port, deadline)
    # All must be public: a name that also resolves to a private address is not trusted.
    if not addresses or not all(is_public(address) for address in addresses):
        raise FetchError(f"{host} is not a public address.")
    return socket.create_connection((addresses[0], port), timeout=_left(deadline))


def _resolve(host: str, port: int, deadline: float) -> list[str]:
    """Return the addresses of a name. Resolvers have no timeout, so a hanging one is abandoned in its thread."""
    answer: Future[list[Any]] = Future()

    def resolve() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - raised again below
            answer.set_exception(error)

    threading.Thread(target=resolve, name="pdf-resolve", daemon=True).start()
    try:
        return [str(entry[4][0]) for entry in answer.result(_left(deadline))]
    except TimeoutError:
        raise FetchError(f"it took more than {TIME_LIMIT:g} s.") from None


def _shut_down(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed already
        channel.shutdown(socket.SHUT_RDWR)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise FetchError(f"it took more than {TIME_LIMIT:g} s.")
    return left
