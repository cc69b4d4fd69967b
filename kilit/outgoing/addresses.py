"""Which IP addresses may be connected to, and what a name resolves to."""

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Not public, although some versions of Python call them global: reserved networks, relays, and IPv6 forms of IPv4
# addresses, which may be private.
SET_ASIDE = ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20")
TRANSLATED = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
REFUSED = [ipaddress.ip_network(network) for network in (*SET_ASIDE, *TRANSLATED)]


class OutOfTime(TimeoutError):
    """The deadline has passed."""


class NameNotResolved(OSError):
    """The name has no address."""


class AddressNotAllowed(Exception):
    """The name resolves to an address that may not be connected to."""


class Deadline:
    """One limit for all that follows; a socket's own timeout would start again with every byte."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left


def is_public(host: str) -> bool:
    address = _unmapped(host)
    is_refused = any(address in network for network in REFUSED)
    return address.is_global and not (is_refused or address.is_multicast or address.is_reserved)


def public_or_in(networks: Sequence[Network]) -> Callable[[str], bool]:
    return lambda host: is_public(host) or any(_unmapped(host) in network for network in networks)


def resolve(host: str, port: int, *, deadline: Deadline, is_allowed: Callable[[str], bool]) -> list[str]:
    """Return the addresses of a name. All must be allowed: a name that also leads to a private one is not trusted."""
    addresses = _look_up(host, port, deadline)
    if not addresses or not all(is_allowed(address) for address in addresses):
        raise AddressNotAllowed(f"{host} is not a public address.")
    return addresses


def _unmapped(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _look_up(host: str, port: int, deadline: Deadline) -> list[str]:
    """Resolvers have no timeout, so a hanging one is abandoned in its thread."""
    answer: Future[list[Any]] = Future()

    def look_up() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - raised again below
            answer.set_exception(error)

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    try:
        return list(dict.fromkeys(str(entry[4][0]) for entry in answer.result(deadline.left())))
    except TimeoutError:
        raise OutOfTime from None
    except socket.gaierror as error:
        raise NameNotResolved(*error.args) from None
