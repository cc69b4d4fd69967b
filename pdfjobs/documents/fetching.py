"""Fetches a file over HTTP from public addresses only.

The name is looked up once, the answer is judged, and the connection goes to that very address: a name that points
elsewhere a moment later changes nothing.
"""

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import SplitResult, urljoin, urlsplit

MOST_BYTES = 1024 * 1024
TIME_LIMIT = 5.0  # seconds, for all of it
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
# What no server of the internet has, although Python (some versions of it) takes it for global: networks set aside by
# standards, relays, and ways to write an IPv4 address, a private one too, as IPv6.
SET_ASIDE = ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20")
TRANSLATED = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
REFUSED = [ipaddress.ip_network(network) for network in (*SET_ASIDE, *TRANSLATED)]


class FetchError(Exception):
    """Why a file was not fetched."""


def fetch(address: str, *, allowed: Callable[[str], bool]) -> bytes:
    """Return the file's bytes; each redirect is judged like the first address."""
    deadline = time.monotonic() + TIME_LIMIT
    for _ in range(MOST_REDIRECTS + 1):
        if not allowed(address):
            raise FetchError(f"it leads to {address}, which is not on the list.")
        content, moved_to = _get(address, deadline)
        if moved_to is None:
            return content
        try:
            address = urljoin(address, moved_to)
        except ValueError:
            raise FetchError("it redirects to what is no address.") from None
    raise FetchError(f"it redirects more than {MOST_REDIRECTS} times.")


def is_public(host: str) -> bool:
    """Tell addresses of the internet from those of this machine and its neighbours."""
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if any(address in network for network in REFUSED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _get(address: str, deadline: float) -> tuple[bytes, str | None]:
    """Return the content, or where it moved to."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        host.encode("idna")  # a name that TLS cannot write is no reason to connect
        channel = _connect(host, port, deadline)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            channel = context.wrap_socket(channel, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError) as error:
        raise FetchError(f"no connection ({error}).") from None
    # Timeouts of sockets start anew with every byte; this one does not, so a sender that trickles gains nothing.
    alarm = threading.Timer(_left(deadline), _hang_up, [channel])
    alarm.daemon = True
    alarm.start()
    try:
        return _ask(parts, channel, deadline)
    except (OSError, ValueError, http.client.HTTPException) as error:
        _left(deadline)
        raise FetchError(f"the answer broke off ({type(error).__name__}).") from None
    finally:
        alarm.cancel()
        channel.close()


def _ask(parts: SplitResult, channel: socket.socket, deadline: float) -> tuple[bytes, str | None]:
    if isinstance(channel, ssl.SSLSocket):
        channel.do_handshake()
    connection = http.client.HTTPConnection(parts.hostname or "")
    connection.sock = channel
    # The answer is kept as it comes: no compression, so a small answer cannot unfold.
    wanted = {"Host": parts.netloc, "Accept": "image/png, image/jpeg", "Accept-Encoding": "identity"}
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=wanted)
    with connection.getresponse() as answer:
        if answer.status in REDIRECTS:
            return b"", answer.getheader("Location") or ""
        if answer.status != http.HTTPStatus.OK:
            raise FetchError(f"the answer was {answer.status}.")
        content = answer.read(MOST_BYTES + 1)
    _left(deadline)
    if len(content) > MOST_BYTES:
        raise FetchError(f"it has more than {MOST_BYTES:,} bytes.")
    if answer.length:
        raise FetchError("the answer broke off.")
    return content, None


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    numbers = _look_up(host, port, deadline)
    # All of them must be public: a name that also points inside is not to be trusted with the rest.
    if not numbers or not all(is_public(number) for number in numbers):
        raise FetchError(f"{host} is not a public address.")
    return socket.create_connection((numbers[0], port), timeout=_left(deadline))


def _look_up(host: str, port: int, deadline: float) -> list[str]:
    """Return the numbers of a name; resolvers know no time limit, so one that hangs is left behind."""
    found: list[str] = []
    faults: list[Exception] = []

    def ask() -> None:
        try:
            found.extend(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits
            faults.append(error)

    asking = threading.Thread(target=ask, name="pdf-look-up", daemon=True)
    asking.start()
    asking.join(_left(deadline))
    if asking.is_alive():
        raise FetchError(f"it took more than {TIME_LIMIT:g} s.")
    if faults:
        raise faults[0]
    return found


def _hang_up(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended by itself
        channel.shutdown(socket.SHUT_RDWR)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise FetchError(f"it took more than {TIME_LIMIT:g} s.")
    return left
