"""The open connections of a web process: how many there may be, and which one has to go for a new one.

A new connection is preferred to one that waits for its client: an honest client sends its request at once. So neither
hundreds of silent clients nor one address with hundreds of connections keep others out.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from config.web.server.limits import WebLimits
from config.web.server.refusals import too_many_connections

if TYPE_CHECKING:
    from config.web.server.connection import WebConnection


class ConnectionTable:
    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits
        self._by_address: defaultdict[Hashable, set[WebConnection]] = defaultdict(set)
        self._size = 0

    def __iter__(self) -> "Iterator[WebConnection]":
        return iter([each for connections in self._by_address.values() for each in connections])

    def __len__(self) -> int:
        return self._size

    def make_room(self) -> bool:
        """Close a connection if a new one needs its place; False if threads work for all of them."""
        return self._size < self._limits.connections or self.close_oldest()

    def make_room_for(self, address: str) -> bool:
        """Likewise, if this address has too many; a socket of the file system has no address, and no limit."""
        limit = self._limits.connections_per_address
        if not (limit and address) or len(self._by_address.get(address, ())) < limit:
            return True
        return self._close_one_of(address, of_address=True)

    def close_oldest(self) -> bool:
        """Close a connection of the address that has most of those that wait for their client."""
        waiting = {address: sum(map(_is_waiting, found)) for address, found in self._by_address.items()}
        most = max(waiting, key=waiting.__getitem__, default=None)
        return most is not None and self._close_one_of(most, of_address=False)

    def add(self, connection: "WebConnection") -> None:
        self._by_address[connection.address].add(connection)
        self._size += 1

    def remove(self, connection: "WebConnection") -> None:
        found = self._by_address[connection.address]
        if connection in found:
            found.remove(connection)
            self._size -= 1
        if not found:
            del self._by_address[connection.address]

    def _close_one_of(self, address: Hashable, *, of_address: bool) -> bool:
        waiting = [each for each in self._by_address[address] if _is_waiting(each)]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda each: each.waiting_since or 0.0)
        oldest.break_off(too_many_connections(of_address=of_address))
        self.remove(oldest)
        return True


def _is_waiting(connection: "WebConnection") -> bool:
    return connection.waiting_since is not None
